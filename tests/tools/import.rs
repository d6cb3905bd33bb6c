//! `tollgate import`: a robots.txt becomes a list that a strict policy takes.

use crate::program::Folder;

const ROBOTS: &str = "# Hello\r\nUser-agent: GPTBot\r\nUser-agent: CCBot\r\nDisallow: /\r\n\r\nUser-agent: Examplebot/2.0\r\nDisallow: /private\r\nDisallow: /search?q=\r\nAllow: /private/open\r\nCrawl-delay: 3\r\nNonsense\r\n\r\nUser-agent: *\r\nDisallow: /cgi-bin/\r\nSitemap: https://example.com/sitemap.xml\r\n";

const LIST: &str = r#"# What robots.txt asks of robots, as rules: made by `tollgate import`, to be imported into a policy.
# A token that its crawler never sends as its agent, such as Google-Extended, finds nobody here.
# Not to the letter: `/search?q=` of Examplebot: rules do not match queries, so it is left out

# GPTBot, CCBot (line 2).
- name: robots-gptbot
  action: DENY
  user_agent_regex: '(?i:(?:^|[^a-z_-])(?:GPTBot|CCBot)(?:[^a-z_-]|$))'
  expression: 'path != "/robots.txt"'

# Examplebot (line 6).
- name: robots-examplebot
  action: DENY
  user_agent_regex: '(?i:(?:^|[^a-z_-])(?:Examplebot)(?:[^a-z_-]|$))'
  expression: 'path.matches("^/private") && !path.matches("^/private/open")'

# Every other robot (line 13): those that say they are one. To hold all agents to it would lock people out.
"#;

#[test]
fn a_robots_file_becomes_rules_of_a_strict_policy() {
    let folder = Folder::new(&[("robots.txt", ROBOTS)]);
    let done = folder.run(&["import", "robots.txt", "-o", "robots.yaml"]);
    assert_eq!(done.code, 0, "{}", done.err);
    for piece in ["robots.txt:11 says nothing", "`/search?q=` of Examplebot", "robots.yaml: 3 rules"] {
        assert!(done.err.contains(piece), "{piece} in\n{}", done.err);
    }
    let list = folder.read("robots.yaml");
    assert!(list.starts_with(LIST), "{list}");
    folder.write("policy.yaml", "version: tollgate/v1\ndefault: ALLOW\nbots:\n  - import: robots.yaml\n");
    let done = folder.run(&["check", "--policy", "policy.yaml"]);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "fine: 3 rules, 0 lints\n", ""));
    let cases = "policy: policy.yaml
cases:
  - {name: named, request: {agent: [GPTBot/1.2, Mozilla/5.0 (compatible; CCBot/2.0)], target: [/, /cgi-bin/x]}, expect: {verdict: deny, rule: bot/robots-gptbot}}
  - {name: itself, request: {agent: [GPTBot/1.2, otherbot/1.0], target: /robots.txt}, expect: allow}
  - {name: part, request: {agent: Examplebot/1.0, target: [/private, /private/x]}, expect: {rule: bot/robots-examplebot}}
  - {name: open, request: {agent: Examplebot/1.0, target: [/private/open, /cgi-bin/x, /]}, expect: allow}
  - {name: others, request: {agent: [otherbot/1.0, Slurp, 'x (+https://example.com/)'], target: /cgi-bin/x}, expect: {rule: bot/robots-others}}
  - {name: people, request: {agent: [Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0, ''], target: /cgi-bin/x}, expect: allow}
";
    let done = folder.feed(&["test", "-"], cases);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert_eq!(folder.feed(&["import"], ROBOTS).out.replace("<stdin>", "robots.txt"), list);
}

#[test]
fn what_is_no_robots_file_is_refused_and_what_is_too_long_is_cut_at_a_line() {
    let folder = Folder::new(&[("page.html", "<!doctype html>\n<p>User-agent: *")]);
    let done = folder.run(&["import", "page.html"]);
    assert!(done.code == 1 && done.err.contains("is a web page"), "{}", done.err);
    assert_eq!(folder.run(&["import", "gone.txt"]).code, 1);
    let line = "Disallow: /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
    let long = format!("User-agent: a\n{}Disallow: /late\n", line.repeat((500 << 10) / line.len() + 1));
    let done = folder.feed(&["import"], &long);
    assert!(done.code == 0 && done.err.contains("longer than 500 KiB"), "{}", done.err);
    assert!(
        done.out.contains("- /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa*\n") && !done.out.contains("/late"),
        "{}",
        done.out
    );
    assert_eq!(done.out.matches("/**").count(), 1, "what is said twice counts once, and no line is cut");
}
