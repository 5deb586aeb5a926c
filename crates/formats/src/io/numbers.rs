//! Numbers in text.

use dastac_elements::{Number, Scalar};

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
        self.advance(sign + digits)?;
        if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
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
    let mut float = zmij::Buffer::new();
    match (value, value.number()) {
        (Scalar::F32(value), _) => text.extend_from_slice(float.format(value).as_bytes()),
        (_, Number::Float(value)) => text.extend_from_slice(float.format(value).as_bytes()),
        (_, Number::Integer(value)) => print_integer(value, text),
        (_, Number::Truth(value)) => text.push(b'0' + u8::from(value)),
    }
}
