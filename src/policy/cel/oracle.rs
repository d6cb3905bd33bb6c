//! Another implementation of the language is asked the same questions: the `cel` crate, in tests only.

use std::collections::HashMap;
use std::sync::Arc;

use cel::{Context, Env, Value};
use proptest::prelude::*;

use super::tests::{TRUE_OF_CEL, typed};
use super::*;
use crate::policy::facts::Facts;
use crate::request::{Headers, Parts, Request};

/// What the other one makes of an expression: `None` when it has no value.
fn other(env: &Arc<Env>, text: &str, path: &str) -> Option<bool> {
    let program = env.compile(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let mut context = Context::with_env(Arc::clone(env));
    let headers = HashMap::from(
        [("Accept", "*/*"), ("User-Agent", "caf\u{e9}")].map(|(k, v)| (k.to_owned(), v.to_owned())),
    );
    let query = HashMap::from([("x".to_owned(), "1".to_owned())]);
    for (name, text) in
        [("path", path), ("method", "GET"), ("userAgent", "caf\u{e9}"), ("host", "a"), ("remoteAddress", "")]
    {
        context.add_variable_from_value(name, text.to_owned());
    }
    context.add_variable_from_value("headers", headers);
    context.add_variable_from_value("query", query);
    context.add_variable_from_value("contentLength", 0_i64);
    match program.execute(&context) {
        Ok(Value::Bool(truth)) => Some(truth),
        Ok(value) => panic!("{text} is {value:?}"),
        Err(_) => None,
    }
}

fn ours(text: &str, path: &str) -> Option<bool> {
    let outcome = compile(&[text], Join::Single, Scope::Rule);
    let expression = outcome.expression.unwrap_or_else(|| panic!("{text}\n{:?}", outcome.refusals));
    let lines: [(&[u8], &[u8]); 2] = [(b"Accept", b"*/*"), (b"User-Agent", "caf\u{e9}".as_bytes())];
    let target = format!("{path}?x=1");
    let headers: Headers<'_> = lines.into_iter().collect();
    let parts = Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: b"a",
        scheme: b"http",
        client: None,
        headers,
    };
    let request = Request::new(parts).expect("it is well formed");
    let facts = Facts::default();
    match expression.holds(&Scene::new(&request, &facts), false, 0, &mut Vec::new()) {
        Holds::Yes => Some(true),
        Holds::No => Some(false),
        Holds::Undecided(_) => None,
        Holds::Need => panic!("{text} needs nothing"),
    }
}

fn env() -> Arc<Env> {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings).expect("there are no strings yet");
    Arc::new(env)
}

#[test]
fn the_table_of_pure_expressions_holds_there_too() {
    let env = env();
    for text in TRUE_OF_CEL {
        assert_eq!(other(&env, text, "/a/b"), Some(true), "{text}");
        assert_eq!(ours(text, "/a/b"), Some(true), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn both_agree(text in typed(3)[0].clone(), path in "/[a-z/]{0,8}") {
        // Chance is nothing that two can agree on.
        let text = text.replace("randInt", "");
        prop_assume!(!path.contains("//"));
        prop_assert_eq!(ours(&text, &path), other(&env(), &text, &path), "{}", text);
    }
}
