//! Policies of any size, for benches and for load: what they cost must not depend on it.

use std::fmt::Write as _;

/// So many rules of the kinds that policies have, none of which a browser meets. Goes below `bots:`.
pub(crate) fn rules(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let (a, b, c) = (1 + n / 65_536, n / 256 % 256, n % 256);
        let matcher = match n % 10 {
            0 => format!("user_agent_regex: Robot{n}/"),
            1 => format!("user_agent_regex: (?i:crawler-{n}|spider-{n})"),
            2 => format!("remote_addresses: [{a}.{b}.{c}.0/24, 2001:db8:{n:x}::/48]"),
            3 => format!("path_regex: ^/secret-{n}/.*\\.php$"),
            4 => format!("headers_regex: {{X-Client-{}: '^tool-{n}$'}}", n % 97),
            5 => format!("expression: userAgent.contains(\"Tool{n}\") && \"Accept\" in headers"),
            6 => format!("expression: path.startsWith(\"/private/{n}/\") && method == \"GET\""),
            7 => format!("hosts: [site-{n}.example.com, '*.site-{n}.example.com']"),
            8 => format!("paths: [/exact-{n}, /below-{n}/**]"),
            _ => format!("user_agent_regex: ^Agent-{n}\\b.*compatible"),
        };
        let action = ["DENY", "CHALLENGE", "WEIGH"][n % 3];
        let weight = if action == "WEIGH" { ", weight: {adjust: 3}" } else { "" };
        writeln!(text, "- {{name: r{n}, action: {action}, {matcher}{weight}}}").expect("a string takes it");
    }
    text
}

/// So many networks, at most a thousand a rule. Goes below `bots:`.
pub(crate) fn networks(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        if n % 1_000 == 0 {
            writeln!(text, "- name: n{}\n  action: CHALLENGE\n  remote_addresses:", n / 1_000)
                .expect("a string takes it");
        }
        writeln!(text, "  - {}.{}.{}.0/24", 1 + n / 65_536, n / 256 % 256, n % 256)
            .expect("a string takes it");
    }
    text
}
