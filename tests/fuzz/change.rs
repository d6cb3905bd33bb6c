//! Changes inputs the way that fuzzers do, but alike in every run.

/// A generator with a seed for each target.
pub(crate) struct Dice(u64);

/// What parsers trip over.
const MORSELS: &[&[u8]] = &[
    b"\0",
    b"\r",
    b"\n",
    b"\n\n",
    b" ",
    b";",
    b",",
    b":",
    b"/",
    b"//",
    b"/./",
    b"/../",
    b"\\",
    b"#",
    b"?",
    b"%",
    b"%2e",
    b"%2f",
    b"%5c",
    b"%00",
    b"%25",
    b"%zz",
    b"=",
    b"&",
    b"\"",
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"*",
    b"&a",
    b"*a",
    b"- ",
    b"|",
    b"\t",
    b"\x7f",
    b"\xc0\xae",
    b"\xff",
    b"\xe2\x80\xa8",
    b"admin",
    b"/admin",
    b"/robots.txt",
    b"0",
    b"-1",
    b"1e9",
    b"9223372036854775807",
    b"q=0",
    b"__Host-tollgate=",
    b"tollgate=",
    b"x-forwarded-for: ",
    b"x-original-uri: ",
    b"127.0.0.1",
    b"::ffff:10.0.0.1",
    b"http",
    b"https://",
];

impl Dice {
    pub(crate) fn new(name: &str) -> Self {
        // FNV-1a: any spread will do.
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    /// A number below `sides`, which is not 0.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % sides
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.roll(256)).expect("a byte")
    }

    /// One of the inputs, changed in a few places.
    pub(crate) fn changed(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut out = inputs[self.roll(inputs.len())].clone();
        for _ in 0..=self.roll(5) {
            let at = self.roll(out.len() + 1);
            let end = (at + self.roll(24)).min(out.len());
            match self.roll(7) {
                0 if at < out.len() => out[at] ^= 1 << self.roll(8),
                1 if at < out.len() => out[at] = self.byte(),
                2 => drop(out.drain(at..end)),
                3 => {
                    let piece = out[at..end].to_vec();
                    out.splice(at..at, piece);
                }
                4 => {
                    let other = &inputs[self.roll(inputs.len())];
                    let from = self.roll(other.len() + 1);
                    let to = (from + self.roll(64)).min(other.len());
                    out.splice(at..end, other[from..to].iter().copied());
                }
                _ => {
                    let morsel = MORSELS[self.roll(MORSELS.len())];
                    out.splice(at..at, morsel.iter().copied());
                }
            }
        }
        out
    }
}
