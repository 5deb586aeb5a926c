//! Lines as programs write them, word by word, without looking for their ends first.
//!
//! Nothing is what a function gives where a line is of no usual form: its caller reads it again as
//! [`Words`](super::numbers::Words), which take all that may be and say what is wrong.

/// A place in a text.
#[derive(Clone, Copy)]
pub struct Cursor<'t> {
    /// The text from there on.
    pub rest: &'t [u8],
}

impl Cursor<'_> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// An integer without a sign, of at most 19 digits, which always fit.
    pub fn unsigned(&mut self) -> Option<u64> {
        self.skip_blanks();
        self.digits()
    }

    fn digits(&mut self) -> Option<u64> {
        let (mut value, mut count) = (0u64, 0);
        while let Some(byte) = self.rest.get(count) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            count += 1;
        }
        self.rest = &self.rest[count..];
        (1..=19).contains(&count).then_some(value)
    }

    /// An integer.
    pub fn signed(&mut self) -> Option<i64> {
        self.skip_blanks();
        match self.rest {
            [b'-', rest @ ..] => {
                self.rest = rest;
                0i64.checked_sub_unsigned(self.digits()?)
            }
            _ => i64::try_from(self.digits()?).ok(),
        }
    }

    /// A float.
    pub fn float(&mut self) -> Option<f64> {
        self.skip_blanks();
        // What begins with a line end would be a number of the next line.
        let (value, length) = fast_float2::parse_partial::<f64, _>(self.rest).ok()?;
        self.rest = &self.rest[length..];
        (length > 0).then_some(value)
    }

    /// A blank, which ends a word.
    pub fn blank(&mut self) -> Option<()> {
        matches!(self.rest.first(), Some(b' ' | b'\t')).then_some(())
    }

    /// The end of the line, and where the next one begins.
    pub fn line_end(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => self.rest = rest,
            [] => {}
            _ => return None,
        }
        Some(())
    }

    /// The line that begins here, without its end, and where the next one begins.
    pub fn line(&mut self) -> &[u8] {
        let all = self.rest;
        let end = memchr::memchr(b'\n', all).unwrap_or(all.len());
        self.rest = all.get(end + 1..).unwrap_or(&[]);
        &all[..end]
    }
}
