//! The operator's logo: an SVG file of shapes and texts, and of nothing that could act or load.
//!
//! Pages carry it as the source of an `img`, where browsers run no script and load nothing for it anyway. It is read to the last
//! attribute all the same: a file that holds such things is not the file that its owner believes it to be.

use std::fmt::Write as _;

use roxmltree::{Document, Node, NodeType};
use thiserror::Error;

/// A checked logo, ready to stand in a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Logo(String);

/// The longest file, in bytes: every page carries it.
const MAX_BYTES: usize = 4096;

const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Every element that a logo may have: shapes, texts, gradients and clips. No animation, filter, image or foreign content.
const ELEMENTS: &[&str] = &[
    "circle",
    "clipPath",
    "defs",
    "desc",
    "ellipse",
    "g",
    "line",
    "linearGradient",
    "marker",
    "mask",
    "path",
    "pattern",
    "polygon",
    "polyline",
    "radialGradient",
    "rect",
    "stop",
    "style",
    "svg",
    "symbol",
    "text",
    "textPath",
    "title",
    "tspan",
    "use",
];

/// Why a file is no logo for our pages.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("line {line}: {what}")]
pub struct LogoError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there, and what to do.
    pub what: String,
}

impl Logo {
    /// Reads an SVG file's text.
    pub fn parse(svg: &str) -> Result<Self, LogoError> {
        let fail = |line, what: String| Err(LogoError { line, what });
        if svg.len() > MAX_BYTES {
            let what = format!(
                "the logo has {} bytes and may have {MAX_BYTES}: every page carries it; an optimiser such as svgo or scour makes it smaller",
                svg.len()
            );
            return fail(1, what);
        }
        // Without a document type there are no entities that could grow.
        let document = match Document::parse(svg.trim_start_matches('\u{feff}')) {
            Ok(document) => document,
            Err(error) => return fail(error.pos().row, format!("this is no SVG: {error}")),
        };
        let root = document.root_element();
        let line = |node: &Node<'_, '_>| document.text_pos_at(node.range().start).row;
        if !root.has_tag_name((SVG, "svg")) {
            return fail(line(&root), format!("this is no SVG: the outermost element is not `svg` of {SVG}"));
        }
        if root.attribute("viewBox").is_none()
            && !(root.attribute("width").is_some() && root.attribute("height").is_some())
        {
            return fail(line(&root), "the logo has no size: give its `svg` a `viewBox`".to_owned());
        }
        for node in document.descendants() {
            if let Err(what) = check(&node) {
                return fail(line(&node), what);
            }
        }
        Ok(Self(data_url(svg)))
    }

    /// The `data:` URL of the picture.
    pub(in crate::challenge::page) fn url(&self) -> &str {
        &self.0
    }
}

fn check(node: &Node<'_, '_>) -> Result<(), String> {
    match node.node_type() {
        NodeType::PI => Err("a logo has no processing instructions: they load style sheets".to_owned()),
        NodeType::Text if node.parent().is_some_and(|p| p.has_tag_name((SVG, "style"))) => {
            style(node.text().unwrap_or_default())
        }
        NodeType::Element => {
            let tag = node.tag_name();
            if tag.namespace() != Some(SVG) || !ELEMENTS.contains(&tag.name()) {
                let name = tag.name();
                return Err(format!(
                    "a logo has no `{name}`, only shapes, texts and gradients; save it as plain SVG"
                ));
            }
            node.attributes().try_for_each(|a| attribute(a.namespace(), a.name(), a.value()))
        }
        _ => Ok(()),
    }
}

fn attribute(namespace: Option<&str>, name: &str, value: &str) -> Result<(), String> {
    match namespace {
        None | Some(XML) => {}
        Some(XLINK) if name == "href" => {}
        Some(_) => return Err(format!("`{name}` belongs to another program; save the logo as plain SVG")),
    }
    if name.len() > 2 && name[..2].eq_ignore_ascii_case("on") {
        return Err(format!("`{name}` is an event handler, and a logo does nothing"));
    }
    match name {
        "base" => Err("`xml:base` makes references leave the file".to_owned()),
        "href" if !value.trim_start().starts_with('#') => Err(format!(
            "`{value}` leads out of the file; a logo refers to its own parts alone, such as #shape"
        )),
        _ => style(value),
    }
}

/// Style sheets, and every attribute, since most may be written as styles.
fn style(text: &str) -> Result<(), String> {
    // A backslash could spell any of what is looked for in another way.
    let plain = text.to_ascii_lowercase();
    if let Some(word) = ["\\", "@import", "image-set(", "src(", "expression(", "javascript:"]
        .iter()
        .find(|w| plain.contains(**w))
    {
        return Err(format!("`{word}` has no place in a logo"));
    }
    let outward = plain
        .match_indices("url(")
        .any(|(at, found)| !plain[at + found.len()..].trim_start_matches([' ', '"', '\'']).starts_with('#'));
    if outward {
        Err("`url(...)` leads out of the file; a logo refers to its own parts alone".to_owned())
    } else {
        Ok(())
    }
}

/// Escapes what a URL or an attribute could not hold.
fn data_url(svg: &str) -> String {
    let mut url = String::with_capacity(svg.len() * 3 / 2);
    url.push_str("data:image/svg+xml,");
    for byte in svg.trim().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => url.push(byte.into()),
            b'-' | b'.' | b'_' | b'~' | b'!' | b'*' | b'(' | b')' | b',' | b'/' | b':' | b';' | b'='
            | b'?' | b'@' | b'$' | b'+' => {
                url.push(byte.into());
            }
            _ => write!(url, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(inside: &str) -> String {
        format!("<svg xmlns='{SVG}' xmlns:xlink='{XLINK}' viewBox='0 0 9 9'>\n{inside}\n</svg>")
    }

    #[test]
    fn shapes_texts_and_gradients_are_welcome() {
        for inside in [
            "<path d='M0 0h9v9z' fill='#174ea6'/>",
            "<style>.a{fill:url(#g)} @media (prefers-color-scheme: dark){.a{fill:#fff}}</style><circle class='a' r='4'/>",
            "<defs><linearGradient id='g'><stop offset='0' stop-color='red'/></linearGradient></defs><rect fill=\"url( '#g' )\" width='9' height='9'/>",
            "<use xlink:href='#a'/><use href='#a'/><!-- a remark --><title>Ä &amp; Ö</title>",
        ] {
            let logo = Logo::parse(&svg(inside)).unwrap_or_else(|error| panic!("{inside}: {error}"));
            assert!(logo.url().starts_with("data:image/svg+xml,%3Csvg"));
            assert!(logo.url().bytes().all(|b| b.is_ascii_graphic() && !b"<>\"'#&".contains(&b)));
        }
    }

    #[test]
    fn whatever_could_act_or_load_is_refused_with_its_line() {
        for (inside, names) in [
            ("<script>alert(1)</script>", "script"),
            ("<SCRIPT/>", "SCRIPT"),
            ("<foreignObject/>", "foreignObject"),
            ("<image href='#a'/>", "image"),
            ("<a href='#b'/>", "`a`"),
            ("<animate attributeName='href' to='javascript:x'/>", "animate"),
            ("<set/>", "set"),
            ("<x:script xmlns:x='http://www.w3.org/1999/xhtml'/>", "script"),
            ("<g xmlns:i='urn:i' i:label='x'/>", "label"),
            ("<path onload='x'/>", "onload"),
            ("<path ONCLICK='x'/>", "ONCLICK"),
            ("<use href='https://evil.test/#a'/>", "evil.test"),
            ("<use href='data:image/svg+xml,x'/>", "data:"),
            ("<use xlink:href='//evil.test/a'/>", "evil.test"),
            ("<g xml:base='https://evil.test/'/>", "xml:base"),
            ("<rect fill='url(https://evil.test/)'/>", "url("),
            ("<rect style='fill:URL( \"http://evil.test\" )'/>", "url("),
            ("<style>@import 'x';</style>", "@import"),
            ("<style>.a{fill:\\75rl(x)}</style>", "\\"),
            ("<style>.a{background:image-set('x' 1x)}</style>", "image-set"),
            ("<rect fill='javascript:x'/>", "javascript:"),
            ("<?xml-stylesheet href='x'?>", "processing"),
            ("<g>", "no SVG"),
        ] {
            let error = Logo::parse(&svg(inside)).expect_err(inside);
            assert!(error.what.contains(names), "{inside}: {error}");
            assert!((2..=3).contains(&error.line), "{inside}: {error}");
        }
    }

    #[test]
    fn whatever_is_no_svg_is_refused() {
        let bomb = format!("<!DOCTYPE svg [<!ENTITY a 'aaaa'>]>{}", svg("&a;"));
        let large = svg(&"<g/>".repeat(1200));
        for (text, names) in [
            ("", "no SVG"),
            ("PNG", "no SVG"),
            ("<svg viewBox='0 0 1 1'/>", "outermost"),
            ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "outermost"),
            (&*format!("<svg xmlns='{SVG}'/>"), "viewBox"),
            (&*bomb, "no SVG"),
            (&*large, "4096"),
        ] {
            let error = Logo::parse(text).expect_err(text);
            assert!(error.what.contains(names), "{text}: {error}");
        }
        assert!(Logo::parse(&format!("<svg xmlns='{SVG}' width='9' height='9'/>")).is_ok());
    }
}
