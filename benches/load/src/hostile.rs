//! What it costs to be attacked: inputs that aim at cost, each beside a friendly request, in turns, and their ratio.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;

use crate::compare::protocol;
use crate::face::Face;
use crate::frozen::SERIAL;
use crate::measure::median;
use crate::purse::{Paid, Purse};
use crate::run::{Crew, Order, Pace};
use crate::script::Script;
use crate::subject::{FOR_SPEED, Place, Server};
use crate::visitor::{self, CHROME, Expect, Step};

/// The flags of `hostile`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How many times each pair takes turns
    #[arg(long, default_value_t = 7)]
    turns: usize,
    /// How long a turn is, in milliseconds
    #[arg(long, default_value_t = 300)]
    turn: u64,
    /// Only cases whose names hold this text, such as `grpc, ` or `answers`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// Addresses of attackers.
const CLIENTS: u64 = 1_000_000;
/// How many visitors have paid for answers that are sent again and again.
const PAID: usize = 32;

/// One kind of attack.
struct Case {
    name: &'static str,
    step: Step,
}

fn case(name: &'static str, step: Step) -> Case {
    Case { name, step: step.expecting(Expect::Any) }
}

/// A browser with another agent.
fn agent(text: &str) -> Step {
    visitor::browser("/articles/2026/a-page").without("user-agent").with("user-agent", text)
}

/// A browser that sends so many more headers.
fn crowded(more: usize) -> Step {
    (0..more).fold(visitor::browser("/articles/2026/a-page"), |step, n| {
        step.with(&format!("x-flood-{n}"), &"abcdefghij".repeat(6))
    })
}

/// Attacks on a gate under its default policy; friendly is a browser that passes.
fn on_the_rules() -> Vec<Case> {
    let names = "Googlebot GPTBot ClaudeBot python-requests curl Scrapy bingbot Bytespider Wget AhrefsBot ";
    let pieces =
        "/wp-login.php/.git/config/.env/phpmyadmin/vendor/phpunit/cgi-bin/xmlrpc.php/.aws/credentials";
    let forged = format!("__Host-tollgate={}", "A".repeat(70));
    vec![
        case("agents that never repeat", agent(&CHROME.replace("153.0.0.0", &format!("153.0.{SERIAL}.0")))),
        case(
            "agents that never repeat, of robots",
            agent(&format!("Mozilla/5.0 (compatible; Robot-{SERIAL}/1.0)")),
        ),
        case(
            "agents of 2,000 bytes, full of names",
            agent(&format!("{SERIAL} {}", &names.repeat(24)[..1_991])),
        ),
        case("as many headers as are read", crowded(100)),
        case("more headers than are read", crowded(140)),
        case(
            "targets of 4 KiB, full of what patterns look for",
            visitor::browser(&format!("/{SERIAL}{}", &pieces.repeat(50)[..4_000])),
        ),
        case(
            "targets of 4 KiB with five readings",
            visitor::browser(&format!("/{SERIAL}{}", "/%2e%2e/a%2fb;c=d/x".repeat(210))),
        ),
        case(
            "eight forged clearances",
            visitor::browser("/").with("cookie", &[forged.as_str(); 8].join("; ")),
        ),
        case(
            "a cookie of 8 KiB",
            visitor::browser("/").with(
                "cookie",
                &(0..400).map(|n| format!("name{n}=value{n:06}")).collect::<Vec<_>>().join("; "),
            ),
        ),
        case("queries of 4 KiB", visitor::browser(&format!("/?{SERIAL}{}", "a=b&c=%2e&".repeat(400)))),
        case("scanners, whose addresses are remembered", visitor::browser("/.git/config")),
    ]
}

/// Attacks with challenges and answers on a gate that challenges browsers; friendly is a browser that has paid.
fn on_the_puzzle(paid: &Paid) -> anyhow::Result<Vec<Case>> {
    let origin = format!("https://{}", visitor::HOST);
    let forged = paid.answer.replacen(&paid.answer[10..14], "AAAA", 1);
    Ok(vec![
        case("challenges that nobody answers", visitor::browser("/articles/2026/a-page")),
        case("forged answers", visitor::answer(&forged, &origin)),
        case("answers whose first nonce is wrong", visitor::answer(&paid.wrong()?, &origin)),
        case("a right answer, again and again", visitor::answer(&paid.answer, &origin)),
    ])
}

/// Measures every case at two faces and yields a table.
pub(crate) async fn run(place: &Place, arguments: &Arguments) -> anyhow::Result<String> {
    let mut purse = Purse::default();
    let start = |policy| -> anyhow::Result<Pair> {
        let gate = || place.tollgate(policy, 1, &FOR_SPEED);
        Ok(Pair { friendly: gate()?, hostile: gate()? })
    };
    let (open, strict) = (start("(data)/quiet.yaml")?, start("(data)/botPolicies.yaml")?);
    let mut rows = BTreeMap::<(usize, &str), BTreeMap<&str, (f64, f64)>>::new();
    for (door, face) in [("grpc", Face::Grpc), ("nginx", Face::Nginx)] {
        let paid = purse.fresh(&strict.friendly.http, PAID).await?.to_vec();
        let one = paid.first().context("nobody has paid")?;
        let friendly = visitor::browser("/articles/2026/a-page?from=feed").expecting(Expect::Allow);
        let returning = paid.iter().map(|paid| vec![face.freeze(&paid.returning(true))]).collect();
        let sides = [
            (&open, Script::one(face.freeze(&friendly), CLIENTS), on_the_rules()),
            (&strict, Script::Known { visits: returning, clients: CLIENTS }, on_the_puzzle(one)?),
        ];
        let mut number = 0;
        for (gates, friendly, cases) in sides {
            let friendly = Rc::new(friendly);
            for Case { name, step } in cases {
                number += 1;
                let whole = format!("{door}, {name}");
                if arguments.only.as_ref().is_some_and(|text| !whole.contains(text)) {
                    continue;
                }
                let hostile = Rc::new(Script::one(face.freeze(&step), CLIENTS));
                let pair = take_turns(gates, face, &friendly, &hostile, arguments).await;
                let pair = pair.with_context(|| whole.clone())?;
                eprintln!("{door:>6}  {name:<50} {:>7.1} us  {:>6.2} x", pair.0, pair.1);
                rows.entry((number, name)).or_default().insert(door, pair);
            }
        }
    }
    let mut table = String::from(
        "| attack | grpc, us | to a friendly request | nginx, us | to a friendly request |\n| --- | --- | --- | --- | --- |\n",
    );
    for ((_, name), doors) in rows {
        let cell = |door: &str| {
            doors.get(door).map_or_else(|| " | ".to_owned(), |(us, ratio)| format!("{us:.1} | {ratio:.2}"))
        };
        writeln!(table, "| {name} | {} | {} |", cell("grpc"), cell("nginx"))?;
    }
    Ok(table)
}

/// Two gates that are alike: what one remembers of its attackers must not make the other's visitors suspects.
struct Pair {
    friendly: Server,
    hostile: Server,
}

/// Microseconds of a hostile request, and how many times those of a friendly one that is: the middle of all turns.
async fn take_turns(
    gates: &Pair,
    face: Face,
    friendly: &Rc<Script>,
    hostile: &Rc<Script>,
    arguments: &Arguments,
) -> anyhow::Result<(f64, f64)> {
    let mut sides = [(&gates.friendly, friendly), (&gates.hostile, hostile)].map(|(gate, script)| {
        let address = if face == Face::Grpc { &gate.grpc } else { &gate.http };
        (&gate.process, Crew::new(address, protocol(face)), script)
    });
    let order = Order { pace: Pace::FlatOut, time: Duration::from_millis(arguments.turn), give_up: None };
    let (mut costs, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..arguments.turns {
        let mut pair = [0.0; 2];
        for ((process, crew, script), cost) in sides.iter_mut().zip(&mut pair) {
            let before = process.usage();
            let measured = crew.run(script, order).await;
            ensure!(measured.failed() == 0 && measured.served > 0, "requests fail: {:?}", measured.faults);
            *cost = process.usage().since(before).total() / measured.served as f64;
        }
        costs.push(pair[1]);
        ratios.push(pair[1] / pair[0]);
    }
    Ok((median(costs), median(ratios)))
}
