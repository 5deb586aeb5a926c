//! Processors as LLVM names them.

/// What LLVM is told about a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Architecture, vendor and system.
    pub triple: String,
    /// The processor's name.
    pub cpu: String,
    /// Its features, each as `+name` or `-name`, with commas between.
    pub features: String,
    /// Whether it is a small one in a machine of its own: code stands at fixed addresses, and is short.
    pub embedded: bool,
}

impl Spec {
    /// Whether it is a processor of a computer, not a core inside of memory or of a graphics card.
    pub fn is_host_like(&self) -> bool {
        !self.embedded && !self.triple.starts_with("nvptx")
    }

    /// Whether the features say that `feature` is there, or that it is not.
    pub fn lists(&self, feature: &str) -> Option<bool> {
        let mut sign = self.features.split(',').filter_map(|known| {
            known.strip_suffix(feature).filter(|sign| ["+", "-"].contains(sign))
        });
        sign.next_back().map(|sign| sign == "+")
    }
}
