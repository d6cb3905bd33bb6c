//! The accent colour: one for each scheme, dark or light enough to be read by everybody.

/// A colour in sRGB.
type Rgb = [u8; 3];

/// The colour of links, buttons and the progress bar, as the two schemes show it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Accent {
    light: Rgb,
    dark: Rgb,
}

impl Default for Accent {
    fn default() -> Self {
        Self { light: [0x17, 0x4e, 0xa6], dark: [0xa3, 0xc5, 0xff] }
    }
}

/// The contrast of the accent with what it stands on: WCAG 2.2, 1.4.6, which asks it of texts.
const CONTRAST: f64 = 7.0;
/// What texts stand on in the light scheme: `--paper` and `--sheet` of page.css.
const LIGHT: [Rgb; 2] = [[0xf4, 0xf5, 0xf7], [0xff; 3]];
/// The same in the dark scheme.
const DARK: [Rgb; 2] = [[0x12, 0x14, 0x17], [0x1b, 0x1e, 0x23]];

impl Accent {
    /// Reads `#rgb` or `#rrggbb`. Where a scheme's background would make it hard to read, that scheme gets a darker or lighter
    /// shade; the second value says so.
    pub fn parse(text: &str) -> Result<(Self, Option<String>), String> {
        let wanted = rgb(text)
            .ok_or_else(|| format!("`{text}` is no colour; write it as #rrggbb or #rgb, such as #174ea6"))?;
        let accent = Self { light: towards([0; 3], wanted, &LIGHT), dark: towards([0xff; 3], wanted, &DARK) };
        // A colour of one scheme alone never suits both; a note is due only where neither shows it.
        let note = (accent.light != wanted && accent.dark != wanted).then(|| {
            format!(
                "`{text}` has a contrast of {:.1} with the light scheme and {:.1} with the dark one, and texts need {CONTRAST}: the pages use {} and {}",
                least(wanted, &LIGHT),
                least(wanted, &DARK),
                accent.light(),
                accent.dark()
            )
        });
        Ok((accent, note))
    }

    /// The shade of the light scheme, as CSS.
    pub fn light(&self) -> String {
        css(self.light)
    }

    /// The shade of the dark scheme, as CSS.
    pub fn dark(&self) -> String {
        css(self.dark)
    }
}

fn rgb(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        3 => Some([8, 4, 0].map(|shift| (number >> shift & 15) as u8 * 17)),
        6 => Some([16, 8, 0].map(|shift| (number >> shift & 255) as u8)),
        _ => None,
    }
}

fn css([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The first shade on the way from a colour to `end` that can be read on all of these.
fn towards(end: Rgb, from: Rgb, backgrounds: &[Rgb]) -> Rgb {
    let shade = |step: u32| {
        let mix = |at: usize| ((u32::from(from[at]) * (100 - step) + u32::from(end[at]) * step) / 100) as u8;
        [mix(0), mix(1), mix(2)]
    };
    (0..100).map(shade).find(|shade| least(*shade, backgrounds) >= CONTRAST).unwrap_or(end)
}

fn least(colour: Rgb, backgrounds: &[Rgb]) -> f64 {
    backgrounds.iter().map(|ground| contrast(colour, *ground)).fold(f64::INFINITY, f64::min)
}

/// The contrast ratio of WCAG 2.2.
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The relative luminance of WCAG 2.2.
fn luminance(colour: Rgb) -> f64 {
    let linear = |byte: u8| {
        let part = f64::from(byte) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let [r, g, b] = colour.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_what_wcag_says() {
        assert!((contrast([0; 3], [0xff; 3]) - 21.0).abs() < 1e-9);
        assert!((contrast([0x77; 3], [0xff; 3]) - 4.478).abs() < 0.001);
    }

    #[test]
    fn every_colour_becomes_readable_in_both_schemes() {
        for text in ["#000", "#fff", "#f00", "#ff8800", "#ffff00", "#174ea6", "#808080", "#0a0", "#00f"] {
            let (accent, _) = Accent::parse(text).unwrap();
            assert!(least(accent.light, &LIGHT) >= CONTRAST, "{text}: {}", accent.light());
            assert!(least(accent.dark, &DARK) >= CONTRAST, "{text}: {}", accent.dark());
        }
        let default = Accent::default();
        assert!(least(default.light, &LIGHT) >= CONTRAST && least(default.dark, &DARK) >= CONTRAST);
    }

    #[test]
    fn a_colour_that_suits_a_scheme_stays_there_and_one_that_suits_none_is_told() {
        let (navy, note) = Accent::parse("#003366").unwrap();
        assert_eq!((navy.light().as_str(), note), ("#003366", None));
        let (orange, note) = Accent::parse("#e60").unwrap();
        let note = note.unwrap();
        assert!(note.contains(&orange.light()) && note.contains(&orange.dark()), "{note}");
    }

    #[test]
    fn whatever_is_no_colour_is_refused() {
        for text in ["", "#", "red", "174ea6", "#12", "#1234", "#12345678", "#gggggg", "#+12345", "#fff;x"] {
            assert!(Accent::parse(text).unwrap_err().contains("#rrggbb"), "{text}");
        }
    }
}
