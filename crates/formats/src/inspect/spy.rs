//! Spy plots: a grid of cells, each with the number of entries that fall into it.

use crate::storage::Entries;

/// A grid over the first two dimensions of a tensor; entries that differ in others only fall together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spy {
    /// Rows of the grid.
    pub height: usize,
    /// Columns of the grid.
    pub width: usize,
    /// Rows of the tensor, and columns.
    pub extents: [u64; 2],
    /// By rows.
    pub counts: Vec<u64>,
}

/// A picture in levels of grey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// 0 is black, by rows.
    pub grey: Vec<u8>,
}

impl Spy {
    /// The entries in a grid of at most `largest` cells in each direction, all cells of about the same shape.
    pub fn new(entries: &Entries, largest: usize) -> Spy {
        let extents = match entries.shape() {
            [] => [1, 1],
            [columns] => [1, *columns],
            [rows, columns, ..] => [*rows, *columns],
        };
        let longest = extents[0].max(extents[1]).max(1);
        let cells = |extent: u64| {
            let scaled = u128::from(extent) * largest as u128 / u128::from(longest);
            let cells = if longest <= largest as u64 { u128::from(extent) } else { scaled };
            // At most `largest`.
            usize::try_from(cells).unwrap_or(largest).max(usize::from(extent > 0))
        };
        let (height, width) = (cells(extents[0]), cells(extents[1]));
        let mut counts = vec![0; height * width];
        let cell = |coordinate: u64, cells: usize, extent: u64| {
            // Below `cells`, since coordinates are below the extent.
            usize::try_from(u128::from(coordinate) * cells as u128 / u128::from(extent))
                .unwrap_or(0)
        };
        for entry in 0..entries.len() {
            let element = entries.at(entry);
            let (row, column) = match element {
                [] => (0, 0),
                [column] => (0, *column),
                [row, column, ..] => (*row, *column),
            };
            counts[cell(row, height, extents[0]) * width + cell(column, width, extents[1])] += 1;
        }
        Spy { height, width, extents, counts }
    }

    fn count(&self, row: usize, column: usize) -> u64 {
        if row < self.height && column < self.width {
            self.counts[row * self.width + column]
        } else {
            0
        }
    }

    /// As text: a dot of a braille letter for each cell with an entry, in a frame.
    pub fn braille(&self) -> String {
        const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (lines, letters) = (self.height.div_ceil(4), self.width.div_ceil(2));
        let edge = "─".repeat(letters);
        let mut text = format!("┌{edge}┐\n");
        for line in 0..lines {
            text.push('│');
            for letter in 0..letters {
                let mut dots = 0;
                for (row, dots_of_row) in DOTS.iter().enumerate() {
                    for (column, dot) in dots_of_row.iter().enumerate() {
                        if self.count(4 * line + row, 2 * letter + column) > 0 {
                            dots |= dot;
                        }
                    }
                }
                text.push(char::from_u32(0x2800 + dots).unwrap_or(' '));
            }
            text += "│\n";
        }
        text + &format!("└{edge}┘\n")
    }

    /// How dark a cell is, from 0 to 255: the logarithm of its count, so that single entries are seen beside full
    /// cells.
    fn darkness(&self, count: u64) -> u8 {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if count == 0 {
            return 0;
        }
        // Shown, not computed with.
        #[allow(clippy::cast_precision_loss)]
        let part = if most > 1 { (count as f64).ln() / (most as f64).ln() } else { 1.0 };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let dark = (95.0 + 160.0 * part).round() as u8;
        dark
    }

    /// As a picture: each cell a square of as many pixels as make it about `size` pixels long.
    pub fn picture(&self, size: usize) -> Picture {
        let scale = (size / self.height.max(self.width).max(1)).max(1);
        let mut grey = Vec::with_capacity(self.height * self.width * scale * scale);
        for row in self.counts.chunks(self.width.max(1)) {
            let line: Vec<u8> = row
                .iter()
                .flat_map(|count| std::iter::repeat_n(255 - self.darkness(*count), scale))
                .collect();
            (0..scale).for_each(|_| grey.extend(&line));
        }
        let pixels = |cells: usize| u32::try_from(cells * scale).unwrap_or(u32::MAX);
        Picture { width: pixels(self.width), height: pixels(self.height), grey }
    }

    /// As an SVG image: cells of equal darkness beside each other are one rectangle.
    pub fn svg(&self, title: &str) -> String {
        let scale =
            600.0 / f64::from(u32::try_from(self.height.max(self.width).max(1)).unwrap_or(1));
        let escaped = title.replace('&', "&amp;").replace('<', "&lt;");
        let (width, height) = (self.width, self.height);
        let pixels = |cells: usize| f64::from(u32::try_from(cells).unwrap_or(0)) * scale;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" viewBox=\"-0.5 -0.5 {} {}\">\n\
             <title>{escaped}</title>\n\
             <rect x=\"-0.25\" y=\"-0.25\" width=\"{}\" height=\"{}\" fill=\"#fff\" stroke=\"#888\" \
             stroke-width=\"0.5\"/>\n\
             <g fill=\"#123\" shape-rendering=\"crispEdges\">\n",
            pixels(width + 1),
            pixels(height + 1),
            width + 1,
            height + 1,
            width as f64 + 0.5,
            height as f64 + 0.5,
        );
        for (row, counts) in self.counts.chunks(width.max(1)).enumerate() {
            let mut column = 0;
            for run in counts.chunk_by(|one, other| self.darkness(*one) == self.darkness(*other)) {
                let dark = self.darkness(run[0]);
                if dark > 0 {
                    let opacity = if dark < 255 {
                        format!(" opacity=\"{:.2}\"", f64::from(dark) / 255.0)
                    } else {
                        String::new()
                    };
                    text += &format!(
                        "<rect x=\"{column}\" y=\"{row}\" width=\"{}\" height=\"1\"{opacity}/>\n",
                        run.len()
                    );
                }
                column += run.len();
            }
        }
        text + "</g>\n</svg>\n"
    }
}
