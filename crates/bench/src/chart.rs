//! What a figure is made of: panels of lines or bars.

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The name by which it is asked for.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it shows, and how to read it.
    pub caption: String,
    /// Names of series, in the order of their colours.
    pub series: Vec<Key>,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// How a series looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name.
    pub label: String,
    /// The style class that colours it.
    pub class: String,
}

/// A panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Lines through points.
    Lines {
        /// Its title.
        title: String,
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis.
        y: Axis,
        /// Of each series its points.
        points: Vec<Vec<(f64, f64)>>,
        /// What the points of the first series are called, if they have names.
        names: Vec<String>,
    },
    /// Groups of bars.
    Bars {
        /// Its title.
        title: String,
        /// The vertical axis.
        y: Axis,
        /// Names of groups, and of each series the height of its bar.
        groups: Vec<(String, Vec<Option<f64>>)>,
        /// A height of note.
        line: Option<f64>,
    },
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In powers.
    pub log: bool,
}

pub(crate) fn linear(label: &str) -> Axis {
    Axis { label: label.into(), log: false }
}

pub(crate) fn log(label: &str) -> Axis {
    Axis { label: label.into(), log: true }
}
