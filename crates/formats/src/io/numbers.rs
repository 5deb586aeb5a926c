//! Numbers in text.

use dastac_elements::{Complex, Number, Scalar};

/// `1 entry`, `2 entries`.
pub fn number_of(count: impl Into<u128>, one: &str, many: &str) -> String {
    match count.into() {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// What is wrong with an integer.
#[derive(Clone, Copy, PartialEq)]
pub enum Integer {
    /// It begins with a minus sign.
    Negative,
    /// It does not fit 64 bits.
    TooLarge,
    /// Nothing.
    Fine,
}

/// Words of one line.
pub struct Words<'t>(pub &'t [u8]);

fn is_space(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

impl<'t> Words<'t> {
    /// Leaves out spaces.
    pub fn skip(&mut self) {
        let spaces = self.0.iter().position(|byte| !is_space(*byte)).unwrap_or(self.0.len());
        self.0 = &self.0[spaces..];
    }

    /// The next word, without reading it.
    pub fn peek(&mut self) -> &'t [u8] {
        self.skip();
        let end = self.0.iter().position(|byte| is_space(*byte)).unwrap_or(self.0.len());
        &self.0[..end]
    }

    /// The next word for a message.
    pub fn shown(&mut self) -> String {
        let word = self.peek();
        let text: String = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
        let more = if word.len() > 40 { ".." } else { "" };
        format!("`{}{more}`", text.escape_debug())
    }

    /// Whether nothing but spaces is left.
    pub fn is_empty(&mut self) -> bool {
        self.skip();
        self.0.is_empty()
    }

    fn advance(&mut self, bytes: usize) -> Option<()> {
        if self.0.get(bytes).is_some_and(|byte| !is_space(*byte)) {
            return None;
        }
        self.0 = &self.0[bytes..];
        Some(())
    }

    /// What is wrong with the next word, without reading it, if it is an integer.
    pub fn integer(&mut self) -> Option<Integer> {
        let word = self.peek();
        let (negative, digits) = match word {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        Some(match digits_of(digits) {
            _ if negative => Integer::Negative,
            Some(value) if i64::try_from(value).is_ok() => Integer::Fine,
            _ => Integer::TooLarge,
        })
    }

    /// An integer without a sign.
    pub fn unsigned(&mut self) -> Option<u64> {
        self.skip();
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = digits_of(&self.0[..digits])?;
        self.advance(digits)?;
        Some(value)
    }

    /// An integer.
    pub fn signed(&mut self) -> Option<i64> {
        self.skip();
        let (negative, sign) = match self.0.first() {
            Some(b'-') => (true, 1),
            Some(b'+') => (false, 1),
            _ => (false, 0),
        };
        let digits = self.0[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = digits_of(&self.0[sign..sign + digits])?;
        let value =
            if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
        let value = value?;
        self.advance(sign + digits)?;
        Some(value)
    }

    /// A float. `nan` and `inf` are floats; a `D` before the exponent, as Fortran writes it, is an `E`.
    pub fn float(&mut self) -> Option<f64> {
        self.skip();
        if let Ok((value, length)) = fast_float2::parse_partial::<f64, _>(self.0)
            && length > 0
            && self.advance(length).is_some()
        {
            return Some(value);
        }
        let word = self.peek();
        let mantissa = word.iter().position(|byte| matches!(byte, b'd' | b'D'))?;
        let mut fixed = word.to_vec();
        fixed[mantissa] = b'e';
        let value = fast_float2::parse(&fixed).ok()?;
        self.advance(word.len())?;
        Some(value)
    }
}

impl Words<'_> {
    /// A complex number in one word: `1.5-2i`, or a float, which has no imaginary part.
    pub fn complex(&mut self) -> Option<Complex<f64>> {
        let word = self.peek();
        let Some(parts) = word.strip_suffix(b"i").filter(|_| is_complex(word)) else {
            return self.float().map(Complex::from);
        };
        let sign = |at: &usize| {
            matches!(parts[*at], b'+' | b'-') && !matches!(parts[at - 1], b'e' | b'E' | b'd' | b'D')
        };
        let (real, imaginary) = parts.split_at((1..parts.len()).rev().find(sign)?);
        let value = Complex::new(whole(real)?, whole(imaginary)?);
        self.advance(word.len())?;
        Some(value)
    }
}

/// Whether a word is that of a complex number.
pub fn is_complex(word: &[u8]) -> bool {
    word.last() == Some(&b'i')
}

/// A float that is all of a word.
fn whole(word: &[u8]) -> Option<f64> {
    let mut words = Words(word);
    words.float().filter(|_| words.is_empty())
}

fn digits_of(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    // Up to 19 digits always fit.
    if digits.len() <= 19 {
        let step = |value: u64, digit: &u8| value * 10 + u64::from(digit - b'0');
        return Some(digits.iter().fold(0, step));
    }
    digits
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// Appends an integer.
pub fn print_integer(number: impl itoa::Integer, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a value, so that reading it gives the same value; truth values are 0 and 1.
pub fn print_value(value: Scalar, text: &mut Vec<u8>) {
    match (value, value.number()) {
        (Scalar::F32(value), _) => print_float(value, text),
        (_, Number::Float(value)) => print_float(value, text),
        (_, Number::Integer(value)) => print_integer(value, text),
        (_, Number::Truth(value)) => text.push(b'0' + u8::from(value)),
        (value, Number::Complex(_)) => {
            let (real, imaginary) = parts(value);
            text.extend_from_slice(&real);
            if !imaginary.starts_with(b"-") {
                text.push(b'+');
            }
            text.extend_from_slice(&imaginary);
            text.push(b'i');
        }
    }
}

/// Appends the parts of a complex number, or a value, with a space between them.
pub fn print_parts(value: Scalar, text: &mut Vec<u8>) {
    if !value.element().is_complex() {
        return print_value(value, text);
    }
    let (real, imaginary) = parts(value);
    text.extend_from_slice(&real);
    text.push(b' ');
    text.extend_from_slice(&imaginary);
}

/// Appends a float in as few digits as tell it from all others: `0.25`, `1e300`, without a sign in front of an exponent
/// that is not negative.
fn print_float(value: impl zmij::Float, text: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let digits = buffer.format(value).bytes();
    text.extend(digits.filter(|byte| *byte != b'+'));
}

/// Both parts of a number, so that reading them gives the same.
fn parts(value: Scalar) -> (Vec<u8>, Vec<u8>) {
    let (mut real, mut imaginary) = (Vec::new(), Vec::new());
    match (value, value.number().to_complex()) {
        (Scalar::C64(Complex { re, im }), _) => {
            print_float(re, &mut real);
            print_float(im, &mut imaginary);
        }
        (_, Complex { re, im }) => {
            print_float(re, &mut real);
            print_float(im, &mut imaginary);
        }
    }
    (real, imaginary)
}
