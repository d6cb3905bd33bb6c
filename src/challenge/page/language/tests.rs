//! The languages: which one a browser gets, and that every one of them is whole.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

fn chosen(accept_language: &[u8]) -> &'static str {
    FILES[preferred(accept_language)].0
}

#[test]
fn the_browsers_wish_decides() {
    let rows: [(&[u8], &str); 46] = [
        (b"", "en"),
        (b"de", "de"),
        (b"DE-at", "de"),
        (b"xx, de;q=0.5, en;q=0.4", "de"),
        (b"en;q=0.4,de;q=0.9", "de"),
        (b"en-GB, de;q=0.9", "en"),
        (b"de;q=0.5, pt;q=0.5", "de"),
        (b"fr-CA,fr;q=0.8,en-US;q=0.6,en;q=0.4", "fr"),
        (b"ko-KR,ko;q=0.9,ja;q=0.5", "ja"),
        (b"ko", "en"),
        // Other names of the same language, its scripts and its regions.
        (b"pt", "pt-BR"),
        (b"pt-PT", "pt-BR"),
        (b"no", "nb"),
        (b"no-NO", "nb"),
        (b"nn-NO,nb;q=0.9", "nn"),
        (b"nb-NO", "nb"),
        (b"iw", "he"),
        (b"iw-IL", "he"),
        (b"tl-PH", "fil"),
        (b"bs", "hr"),
        (b"zh", "zh-CN"),
        (b"zh-CN", "zh-CN"),
        (b"zh-SG", "zh-CN"),
        (b"zh-Hans", "zh-CN"),
        (b"zh-Hans-HK", "zh-CN"),
        (b"zh-TW", "zh-TW"),
        (b"zh-HK", "zh-TW"),
        (b"zh-MO", "zh-TW"),
        (b"zh-Hant", "zh-TW"),
        (b"zh-Hant-HK", "zh-TW"),
        (b"zh-hant-cn", "zh-TW"),
        (b"cmn-Hant-TW", "zh-TW"),
        (b"yue", "zh-TW"),
        (b"es-419", "es"),
        (b"sr-Latn, de;q=0.1", "de"),
        // Whatever is no wish for a language of ours.
        (b"*", "en"),
        (b"*, de;q=0.5", "de"),
        (b"und", "en"),
        (b"und, fr;q=0.3", "fr"),
        (b"i-klingon", "en"),
        (b"de;q=0, en;q=0.1", "en"),
        (b"de;q=2", "en"),
        (b"de;q=x", "en"),
        (b"\xff\xfe, de", "de"),
        (b";;;,,,--", "en"),
        (b"de-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "en"),
    ];
    for (accept, want) in rows {
        assert_eq!(chosen(accept), want, "{}", accept.escape_ascii());
    }
}

#[test]
fn every_language_is_found_by_its_tag_and_named_after_itself() {
    let languages = load().unwrap();
    assert_eq!(languages.len(), 28);
    for ((tag, _), language) in FILES.iter().zip(&languages) {
        assert_eq!(chosen(tag.as_bytes()), *tag);
        assert_eq!(chosen(format!("xx, {tag};q=0.1").as_bytes()), *tag);
        assert_eq!(super::tag(&tag.to_ascii_uppercase()), Some(*tag));
        assert_eq!(language.lang, *tag);
        assert_eq!(language.dir, if ["ar", "he"].contains(tag) { "rtl" } else { "ltr" }, "{tag}");
    }
    for (alias, tag) in ALIASES {
        assert!(FILES.iter().any(|(ours, _)| ours == tag), "{alias}");
        assert_eq!(*alias, alias.to_ascii_lowercase());
    }
}

/// Every text of a language by its dotted key; the heading of a pair is its `0`.
fn texts(file: &str) -> BTreeMap<String, String> {
    fn add(key: &str, value: &Value, texts: &mut BTreeMap<String, String>) {
        let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        match value {
            Value::String(text) => drop(texts.insert(key.to_owned(), text.clone())),
            Value::Array(pair) => {
                pair.iter().enumerate().for_each(|(at, v)| add(&below(&at.to_string()), v, texts))
            }
            Value::Object(group) => group.iter().for_each(|(name, v)| add(&below(name), v, texts)),
            _ => panic!("{key} is no text"),
        }
    }
    let mut texts = BTreeMap::new();
    add("", &serde_json::from_str(file).unwrap(), &mut texts);
    texts
}

fn places(text: &str) -> Vec<&str> {
    let mut places: Vec<_> = text.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    places.sort_unstable();
    places
}

/// The longest text of each kind that the page shows well, in characters: headings and buttons on one or two lines of a phone.
fn longest(key: &str) -> usize {
    match key {
        "script.go_on" | "script.send" | "script.again" | "notice.reload" | "notice.home" => 28,
        "script.lane" => 34,
        "contact" | "request" | "challenge.address" => 30,
        "challenge.title" => 40,
        "challenge.why" => 36,
        "script.refused" | "script.failed" => 40,
        _ if key.ends_with("heading") || key.ends_with(".0") => 40,
        _ => 210,
    }
}

#[test]
fn every_text_is_there_translated_and_short_enough() {
    let english = texts(FILES[0].1);
    for (tag, file) in FILES {
        let here = texts(file);
        assert!(here.keys().eq(english.keys()), "{tag}");
        for (key, text) in &here {
            assert_eq!(places(text), places(&english[key]), "{tag} {key}");
            assert_eq!(text.trim(), text, "{tag} {key}");
            assert!(!text.is_empty() && !text.contains(['<', '>', '&', '\n', '\t']), "{tag} {key}");
            assert!(text.chars().count() <= longest(key), "{tag} {key}: {} characters", text.chars().count());
            let may_be_equal = *tag == "en" || key == "dir" || (*tag == "fil" && key == "challenge.address");
            assert!(may_be_equal || *text != english[key], "{tag} {key} is still English");
        }
    }
}

/// A text that was pasted under the wrong key shows where two keys say the same, though English tells them apart.
#[test]
fn no_language_says_one_thing_for_two() {
    let english = texts(FILES[0].1);
    for (tag, file) in FILES {
        let here = texts(file);
        for (key, text) in &here {
            for (other, same) in here.iter().filter(|(other, same)| *other > key && *same == text) {
                assert!(same == text && english[key] == english[other], "{tag}: {key} and {other}: {text}");
            }
        }
    }
}

/// Words of another language would be in letters of another script, or would lack those of this one.
#[test]
fn every_language_is_written_in_its_own_letters() {
    let script = |tag: &str| -> Option<fn(char) -> bool> {
        Some(match tag {
            "ar" => |c| ('\u{600}'..='\u{6ff}').contains(&c),
            "bg" | "ru" | "uk" => |c| ('\u{400}'..='\u{4ff}').contains(&c),
            "he" => |c| ('\u{590}'..='\u{5ff}').contains(&c),
            "ja" => |c| ('\u{3040}'..='\u{30ff}').contains(&c),
            "zh-CN" | "zh-TW" => |c| ('\u{4e00}'..='\u{9fff}').contains(&c),
            _ => return None,
        })
    };
    for (tag, file) in FILES {
        for (key, text) in texts(file).iter().filter(|(key, _)| !matches!(key.as_str(), "lang" | "dir")) {
            match script(tag) {
                // Buttons and labels of Japanese may be of Chinese characters alone.
                Some(own) => assert!(
                    text.chars().any(own) || (*tag == "ja" && text.chars().any(|c| c as u32 > 0x3000)),
                    "{tag} {key}: {text}"
                ),
                None => assert!(
                    text.chars().all(|c| (c as u32) < 0x250 || (0x1e00..0x2100).contains(&(c as u32))),
                    "{tag} {key}: {text}"
                ),
            }
        }
    }
}

#[test]
fn values_are_never_taken_for_places() {
    let values = [("{site}", "{host}"), ("{host}", "<b>")];
    assert_eq!(fill("{site} on {host}, {x} {", &values), "{host} on <b>, {x} {");
}
