//! The settings file as a JSON schema, from the table of settings: for editors, and for whoever writes such files.

use serde_json::{Map, Value, json};

use super::keys::{Form, KEYS, Key};

/// A schema of draft 2020-12 for `tollgate.yaml` and `tollgate.toml`.
pub fn schema() -> Value {
    let mut root = group();
    for key in KEYS.iter().filter(|key| !key.outside()) {
        let mut parts: Vec<&str> = key.name.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let mut at = &mut root;
        for part in parts {
            let inner = at["properties"].as_object_mut().expect("a group has properties");
            at = inner.entry(part).or_insert_with(group);
        }
        at["properties"][last] = property(key);
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Tollgate settings".into();
    root
}

impl Key {
    /// Whether a file cannot set it: it names the file.
    const fn outside(&self) -> bool {
        matches!(self.name.as_bytes(), b"config")
    }
}

fn group() -> Value {
    json!({ "type": "object", "properties": Map::new(), "additionalProperties": false })
}

fn property(key: &Key) -> Value {
    let text = json!({ "type": "string" });
    let mut property = match key.form() {
        Form::List => json!({ "anyOf": [text, { "type": "array", "items": text }] }),
        Form::OneOf(words) => json!({ "enum": words }),
        Form::Switch => json!({ "type": "boolean" }),
        Form::Address | Form::Text => text,
        Form::Whole => json!({ "type": "integer", "minimum": 0 }),
    };
    property["description"] = key.meaning.into();
    if let Some(default) = key.default {
        property["default"] = match key.form() {
            Form::List => default.split(',').map(|item| Value::from(item.trim())).collect(),
            Form::Switch => (default == "true").into(),
            Form::Whole => default.parse::<u64>().map_or(Value::Null, Value::from),
            Form::Address | Form::OneOf(_) | Form::Text => default.into(),
        };
    }
    if key.secret {
        property["writeOnly"] = true.into();
    }
    property
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_a_file_stands_in_the_schema() {
        let schema = schema();
        for key in KEYS {
            let path = format!("/properties/{}", key.name.replace('.', "/properties/"));
            let found = schema.pointer(&path);
            assert_eq!(found.is_some(), key.name != "config", "{}", key.name);
            assert!(found.is_none_or(|p| p["description"] == key.meaning), "{}", key.name);
        }
        let at = |path: &str| schema.pointer(path).expect(path).clone();
        assert_eq!(at("/properties/cookie/properties/ttl/additionalProperties"), false);
        assert_eq!(at("/properties/shadow/type"), "boolean");
        assert_eq!(at("/properties/workers/type"), "integer");
        assert_eq!(at("/properties/listen/properties/mode/default"), "0660");
        assert_eq!(at("/properties/trust/properties/peers/default"), json!(["127.0.0.0/8", "::1"]));
        assert_eq!(at("/properties/log/properties/format/enum"), json!(["text", "json"]));
        assert_eq!(at("/properties/keys/properties/secret/writeOnly"), true);
    }
}
