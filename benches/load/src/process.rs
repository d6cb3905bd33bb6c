//! Programs that are measured: started on a core of their own, watched through /proc, ended with the value that holds them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A running program.
#[derive(Debug)]
pub(crate) struct Process {
    /// The word for it in reports.
    pub(crate) name: String,
    child: Option<Child>,
    pid: u32,
}

/// What a program and all its children have used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Nanoseconds on a processor.
    nanos: u64,
    /// The same by clock ticks, in user mode and in the kernel: coarse, and good for their ratio only.
    user_ticks: u64,
    kernel_ticks: u64,
    /// Kilobytes in memory, now.
    pub(crate) rss_kib: u64,
    /// Open descriptors.
    pub(crate) descriptors: u64,
}

/// Microseconds on a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) user: f64,
    pub(crate) kernel: f64,
}

impl Spent {
    pub(crate) fn total(self) -> f64 {
        self.user + self.kernel
    }
}

impl Usage {
    /// What has been used since.
    pub(crate) fn since(self, earlier: Self) -> Spent {
        let micros = self.nanos.saturating_sub(earlier.nanos) as f64 / 1e3;
        let user = self.user_ticks.saturating_sub(earlier.user_ticks) as f64;
        let kernel = self.kernel_ticks.saturating_sub(earlier.kernel_ticks) as f64;
        let share = if user + kernel > 0.0 { user / (user + kernel) } else { 0.0 };
        Spent { user: micros * share, kernel: micros * (1.0 - share) }
    }
}

/// How a program is started.
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a OsStr,
    pub(crate) args: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The core it stays on.
    pub(crate) core: usize,
    /// Where its messages go; nowhere without it.
    pub(crate) log: Option<&'a Path>,
}

impl Start<'_> {
    fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new("taskset");
        command.arg("-c").arg(self.core.to_string()).arg(self.program).args(&self.args);
        // Settings of whoever runs this are not those of the measurement.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TOLLGATE") {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let log = || -> anyhow::Result<Stdio> {
            let Some(folder) = self.log else { return Ok(Stdio::null()) };
            let path = folder.join(format!("{}.log", self.name));
            let file = File::options().create(true).append(true).open(&path);
            Ok(file.with_context(|| format!("cannot write {}", path.display()))?.into())
        };
        command.stdin(Stdio::null()).stdout(log()?).stderr(log()?);
        Ok(command)
    }

    /// Starts it.
    pub(crate) fn run(&self) -> anyhow::Result<Process> {
        let child = self.command()?.spawn().context("cannot start taskset (of util-linux)")?;
        Ok(Process { name: self.name.to_owned(), pid: child.id(), child: Some(child) })
    }

    /// Starts it and reads the line that it says when it is ready.
    pub(crate) fn run_until_it_speaks(&self) -> anyhow::Result<(Process, String)> {
        let mut child = self.command()?.stdout(Stdio::piped()).spawn().context("cannot start taskset")?;
        let output = child.stdout.take().context("a pipe")?;
        let process = Process { name: self.name.to_owned(), pid: child.id(), child: Some(child) };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.is_empty() {
            bail!(
                "{} did not start: {} {}; with --logs FOLDER its messages are kept",
                self.name,
                self.program.to_string_lossy(),
                self.args.join(" ")
            );
        }
        Ok((process, line))
    }
}

impl Process {
    /// One that somebody else has started.
    pub(crate) fn known(name: &str, pid: u32) -> Self {
        Self { name: name.to_owned(), child: None, pid }
    }

    /// What it and its children have used so far; nothing once it has ended.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        add(self.pid, &mut usage);
        usage
    }

    /// Whether it still runs.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        // Politely, so that it takes its children along; a gate drains, which nobody here waits long for.
        let kill = ["-c", "kill \"$0\"", &self.pid.to_string()].map(str::to_owned);
        drop(Command::new("sh").args(kill).stderr(Stdio::null()).status());
        let deadline = Instant::now() + Duration::from_secs(2);
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                drop(child.kill());
                drop(child.wait());
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn add(pid: u32, usage: &mut Usage) {
    let folder = format!("/proc/{pid}");
    let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    // The name in brackets may hold anything, so fields are counted from behind it: state is the first.
    let stat = read("stat");
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |n: usize| fields.get(n).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    usage.user_ticks += field(11);
    usage.kernel_ticks += field(12);
    let status = read("status");
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    usage.rss_kib += rss.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0);
    usage.descriptors += fs::read_dir(format!("{folder}/fd")).map_or(0, |entries| entries.count() as u64);
    let threads = fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let scheduled = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        usage.nanos += scheduled.split(' ').next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.split_whitespace().filter_map(|text| text.parse().ok()).for_each(|child| add(child, usage));
    }
}

/// The processor, the kernel, and whether the generator has a core of its own.
pub(crate) fn machine() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = processor.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "{cores} cores of {}, Linux {}, load {load} at the start",
        model.unwrap_or("an unnamed processor"),
        kernel.trim()
    )
}

/// Whether this process may run on a core: the one that is measured must not be among them.
pub(crate) fn may_run_on(core: usize) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    list.trim().split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if (first..=last).contains(&core))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_watched_until_it_is_dropped() {
        let start = Start {
            name: "shell",
            program: OsStr::new("sh"),
            args: vec!["-c".to_owned(), "echo ready; sleep 60; true".to_owned()],
            environment: Vec::new(),
            core: 0,
            log: None,
        };
        let (mut process, line) = start.run_until_it_speaks().unwrap();
        assert_eq!(line, "ready\n");
        assert!(process.lives());
        let usage = process.usage();
        assert!(usage.rss_kib > 0 && usage.descriptors >= 3, "{usage:?}");
        let pid = process.pid;
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}/exe")).exists());
    }

    #[test]
    fn a_program_that_says_nothing_did_not_start() {
        let start = Start {
            name: "nothing",
            program: OsStr::new("true"),
            args: Vec::new(),
            environment: Vec::new(),
            core: 0,
            log: None,
        };
        assert!(start.run_until_it_speaks().unwrap_err().to_string().contains("did not start"));
    }

    #[test]
    fn time_is_split_as_ticks_are() {
        let used = Usage { nanos: 4_000_000, user_ticks: 3, kernel_ticks: 1, ..Usage::default() };
        assert_eq!(used.since(Usage::default()), Spent { user: 3_000.0, kernel: 1_000.0 });
    }
}
