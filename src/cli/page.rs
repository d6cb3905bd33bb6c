//! `page`: every page that a visitor may see, in a folder to look at; or the source of ours, to begin an own one with.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Failure;
use super::flags::SettingFlags;
use crate::challenge::page::{BUILT_IN, Pages};
use crate::config::{self, Sources};

/// The flags of `page`.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    settings: SettingFlags,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// Write every page in every language into this folder, under the settings in force; open its index.html
    #[arg(long, value_name = "DIR")]
    preview: Option<PathBuf>,
    /// Print the template of our page, where one for `page.template` may begin
    #[arg(long)]
    template: bool,
}

/// Writes the previews, or prints the template.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let mut stdout = io::stdout().lock();
    let Some(folder) = arguments.what.preview else {
        return Ok(stdout.write_all(BUILT_IN.as_bytes())?);
    };
    let settings = config::load(&sources).map_err(Failure::Problems)?.settings.gate;
    let files = Pages::new(&settings.page, &settings.prefix)?.previews()?;
    for file in &files {
        let path = folder.join(&file.path);
        let write = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, &file.body)
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(writeln!(stdout, "{} files; open {}", files.len(), folder.join("index.html").display())?)
}
