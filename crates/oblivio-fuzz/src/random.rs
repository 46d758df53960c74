//! Draws that need no quality but repetition: the same seed gives the same input.

/// A generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Bytes and words at which readers stumble.
const TOKENS: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\"",
    b"\"\"",
    b"'",
    b"\\",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"{",
    b"[[[[[[[[",
    b"}",
    b"null",
    b"NaN",
    b"-0",
    b"1e999",
    b"-1e-999",
    b"18446744073709551616",
    b"9223372036854775807",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"PAR1",
];

impl Random {
    /// The generator of an input.
    pub fn of(name: &str, number: u64) -> Self {
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(name ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Any number.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below a bound; zero if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// True once in so many draws.
    pub fn once_in(&mut self, draws: usize) -> bool {
        self.below(draws) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Changes a few bytes: one of its bits, all of it, one more, one less, a word, a piece twice or gone, the end gone.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(16)).min(bytes.len());
            if bytes.is_empty() {
                bytes.push(self.bits() as u8);
                continue;
            }
            match self.below(10) {
                0 | 1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes[at] = self.bits() as u8,
                3 => bytes.insert(at, self.bits() as u8),
                4 => drop(bytes.drain(at..end)),
                5 => {
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                6 | 7 => {
                    let token = *self.pick(&TOKENS);
                    bytes.splice(at..at, token.iter().copied());
                }
                8 => {
                    let token = *self.pick(&TOKENS);
                    bytes.splice(at..end, token.iter().copied());
                }
                _ => bytes.truncate(at),
            }
        }
    }
}
