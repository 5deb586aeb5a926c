//! Places in a text: bytes as lines and columns, for people, and in the units of editors.

/// Where the lines of a text begin.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Those of a text. A line ends with a line feed; a carriage return before it belongs to the line.
    pub fn of(text: &'a str) -> Lines<'a> {
        let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(feeds.map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// The line of a byte, counted from 0, and the text before the byte on that line. A byte within a character is its
    /// first one; one behind the text is its end.
    fn before(&self, byte: usize) -> (usize, &'a str) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        (line, &self.text[self.starts[line]..byte])
    }

    /// Line and column for people: both from 1, the column in characters.
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let (line, before) = self.before(byte);
        (line + 1, before.chars().count() + 1)
    }

    /// Line and column for editors: both from 0, the column in UTF-16 units.
    pub fn utf16(&self, byte: usize) -> (u32, u32) {
        let (line, before) = self.before(byte);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (number(line), number(before.encode_utf16().count()))
    }

    /// The byte at an editor's line and column; the end of the line, or of the text, for one that is not there.
    pub fn byte(&self, line: u32, column: u32) -> usize {
        let Some(start) = usize::try_from(line).ok().and_then(|line| self.starts.get(line)) else {
            return self.text.len();
        };
        let rest = &self.text[*start..];
        let rest = rest.split(['\n', '\r']).next().unwrap_or(rest);
        let mut units = 0;
        for (at, c) in rest.char_indices() {
            if units >= column {
                return start + at;
            }
            units += if c.len_utf16() == 2 { 2 } else { 1 };
        }
        start + rest.len()
    }
}
