//! The settings of the pages: texts, colours, and the files of a logo and a template.

use std::fs;
use std::path::Path;

use super::reader::Reader;
use crate::challenge::page::{Accent, FrameAncestors, Logo, Settings, Template, language_tag};

/// Reads every `page.*`; what is wrong stays in the reader.
pub(super) fn read(reader: &mut Reader<'_>) -> Settings {
    let accent = reader.optional("page.accent", Accent::parse);
    if let Some((_, Some(note))) = &accent {
        reader.warn("page.accent", note.clone());
    }
    Settings {
        name: reader.optional("page.name", line),
        contact: reader.optional("page.contact", line),
        logo: file(reader, "page.logo", |text| Logo::parse(text).map_err(|error| error.to_string())),
        accent: accent.map(|(accent, _)| accent).unwrap_or_default(),
        footer: reader.optional("page.footer", line),
        language: reader.optional("page.language", language_tag),
        template: file(reader, "page.template", |text| {
            Template::parse(text).map_err(|error| error.to_string())
        }),
        frame_ancestors: read_frame_ancestors(reader),
    }
}

fn read_frame_ancestors(reader: &mut Reader<'_>) -> FrameAncestors {
    let sources = reader.list("page.frame_ancestors");
    FrameAncestors::parse(sources.iter().map(String::as_str)).unwrap_or_else(|message| {
        reader.complain("page.frame_ancestors", message);
        FrameAncestors::default()
    })
}

/// Reads what a file of the page's holds.
fn file<T>(reader: &mut Reader<'_>, key: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
    let path = reader.path(key)?;
    match text(&path).and_then(|text| parse(&text)) {
        Ok(value) => Some(value),
        Err(message) => {
            reader.complain(key, format!("cannot use {}: {message}", path.display()));
            None
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let large = fs::metadata(path).map_err(|error| error.to_string())?.len() > MAX_FILE;
    if large {
        return Err(format!("it has more than {MAX_FILE} bytes, and every page would carry them"));
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The largest file that is read, in bytes; what reads it draws a closer line.
const MAX_FILE: u64 = 1024 * 1024;

/// A short text for the page: one line, no control characters.
fn line(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 200 || text.chars().any(char::is_control) {
        return Err("a text of one line and at most 200 bytes was expected".to_owned());
    }
    Ok(text.to_owned())
}
