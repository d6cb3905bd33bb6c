//! Signals, figures and limits in rules.

use super::*;
use crate::behaviour::{Behaviour, Figure, Figures, Signal};
use crate::policy::Recall;

/// How somebody behaves who shows these signals and figures, with or without evidence of an address.
fn behaving(address: bool, signals: &[Signal], values: &[(Figure, u32)]) -> Behaviour {
    let mut figures = Figures::with_evidence(address);
    values.iter().for_each(|(figure, value)| figures.set(*figure, *value));
    Behaviour { figures, signals: signals.iter().copied().collect() }
}

#[test]
fn signals_and_figures_decide() {
    use Signal::{Burst, Crawl, Probe};
    let seen = behaving(true, &[Burst, Crawl], &[(Figure::ClientRate, 80)]);
    let unknown = behaving(false, &[], &[]);
    let rows = [
        ("DENY, signals: {any: [crawl, probe]}", &seen, "bot/x"),
        ("DENY, signals: {all: [crawl, probe]}", &seen, "default/allow"),
        ("DENY, signals: {all: [burst, crawl]}", &seen, "bot/x"),
        ("DENY, signals: {all: [burst], any: [probe]}", &seen, "default/allow"),
        ("DENY, signals: {any: [crawl]}", &unknown, "default/allow"),
        ("DENY, expression: signal.crawl && !signal.probe", &seen, "bot/x"),
        ("DENY, expression: client.rate_1m > 79 && client.rate_1m < 81", &seen, "bot/x"),
        ("DENY, expression: client.rate_1m > 80", &seen, "default/allow"),
        ("DENY, expression: client.rate_1m > 1000", &unknown, "bot/x"),
        ("ALLOW, expression: client.rate_1m < 1000", &unknown, "default/allow"),
        ("ALLOW, expression: client.rate_1m < 1000", &seen, "bot/x"),
        ("DENY, expression: fingerprint.rate_1m > 0", &unknown, "default/allow"),
    ];
    assert!(!seen.signals.has(Probe));
    for (rule, behaviour, want) in rows {
        let read = || *behaviour;
        let facts = Facts { recall: Recall::new(&read), ..Facts::default() };
        judge(&format!("bots:\n- {{name: x, action: {rule}}}\n"), &facts, |judged| match judged {
            Judged::Decided(outcome) => assert_eq!(outcome.rule, want, "{rule}"),
            other => panic!("{rule}: {other:?}"),
        });
    }
}

#[test]
fn memory_is_read_once_and_only_where_it_still_counts() {
    let reads = std::cell::Cell::new(0);
    let read = || {
        reads.set(reads.get() + 1);
        Behaviour::default()
    };
    let count = |rules: &str| {
        reads.set(0);
        let facts = Facts { recall: Recall::new(&read), ..Facts::default() };
        judge(&format!("bots:\n{rules}"), &facts, |_| reads.get())
    };
    let asks = "- {name: a, action: DENY, signals: {any: [crawl]}}\n- {name: b, action: DENY, expression: signal.burst || client.rate_1m > 5}\n";
    assert_eq!(count(asks), 1);
    assert_eq!(count(&format!("- {{name: all, action: ALLOW, path_regex: .*}}\n{asks}")), 0);
    assert_eq!(count("- {name: a, action: DENY, paths: [/elsewhere], signals: {any: [crawl]}}\n"), 0);
    assert_eq!(count("- {name: a, action: DENY, path_regex: ^/nowhere}\n"), 0);
}

#[test]
fn limit_rules_are_noted_and_go_on() {
    let met = |rules: &str| {
        let text = format!("bots:\n{rules}");
        let policy = policy(&text);
        judge(&text, &Facts::default(), |judged| match judged {
            Judged::Decided(outcome) => {
                let met =
                    policy.limits(outcome.limits).map(|limit| format!("{} {}", limit.rule, limit.shadow));
                (outcome.rule.to_owned(), met.collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        })
    };
    let limit =
        |name: &str, more: &str| format!("- {{name: {name}, action: LIMIT, rate: {{limit: 5/1m}}{more}}}\n");
    let (rule, names) =
        met(&[limit("a", ""), limit("b", ", paths: [/x]"), limit("c", ", shadow: true"), limit("d", "")]
            .concat());
    assert_eq!(
        (rule.as_str(), names),
        ("default/allow", vec!["bot/a false".into(), "bot/c true".into(), "bot/d false".into()])
    );
    let deny = "- {name: nobody, action: DENY, path_regex: .*}\n";
    let (rule, names) = met(&[&limit("a", ""), deny, &limit("b", "")].concat());
    assert_eq!((rule.as_str(), names), ("bot/nobody", vec!["bot/a false".into()]));
}
