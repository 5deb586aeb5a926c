//! Goals of measurements: ratios that have to be reached.

/// A goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What it is about.
    pub title: String,
    /// What has to be reached, in words.
    pub target: String,
    /// The ratios that are measured, each with the one that is wanted.
    pub rows: Vec<Row>,
}

/// A part of a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// The ratio.
    pub value: f64,
    /// The ratio has to be at least this.
    pub wanted: f64,
}

impl Row {
    /// Whether it is enough.
    pub fn met(&self) -> bool {
        self.value >= self.wanted
    }
}

impl Goal {
    /// How many parts are reached.
    pub fn met(&self) -> usize {
        self.rows.iter().filter(|row| row.met()).count()
    }

    /// The part that is farthest from its aim.
    pub fn worst(&self) -> Option<&Row> {
        let distance = |row: &&Row| row.value / row.wanted;
        self.rows.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))
    }
}
