//! Convolutions with channels, one picture at a time: the layers of ResNet50 with a sparse input (figure 15 of
//! "Compilation of Sparse Convolutions"), and with pruned filters beside sparse inputs (section 6.4 of "Unified
//! Convolution Framework").

use std::path::Path;

use crate::Job;
use crate::figures::Scope;
use crate::kernels::Call;
use crate::patterns::Pattern;

/// A convolution of a picture with channels: `O(n, h, w, f) := I(n, stride * h + r, stride * w + q, c) * F(r, q, c,
/// f)`.
///
/// The input has all that is read, padding included: no access is outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Rows, and columns, of the result.
    pub outputs: i64,
    /// Rows, and columns, of the filters.
    pub window: i64,
    /// Channels of the input.
    pub channels: i64,
    /// Channels of the result.
    pub filters: i64,
    /// From one place of the filters to the next.
    pub stride: i64,
}

/// The loops of both papers, outermost first.
pub const ORDER: &str = "nhwrqcf";

/// The layers of ResNet50 that differ in shape, in their order in the network.
pub const LAYERS: [Layer; 25] = [
    layer(112, 1, 64, 256, 2),
    layer(56, 1, 64, 64, 1),
    layer(56, 1, 256, 64, 1),
    layer(56, 3, 64, 64, 1),
    layer(56, 1, 64, 256, 1),
    layer(56, 1, 256, 512, 2),
    layer(56, 1, 256, 128, 1),
    layer(56, 3, 128, 128, 2),
    layer(28, 1, 512, 128, 1),
    layer(28, 3, 128, 128, 1),
    layer(28, 1, 128, 512, 1),
    layer(28, 1, 512, 1024, 2),
    layer(28, 1, 512, 256, 1),
    layer(28, 3, 256, 256, 2),
    layer(14, 1, 256, 1024, 1),
    layer(14, 1, 1024, 256, 1),
    layer(14, 3, 256, 256, 1),
    layer(14, 1, 256, 1024, 1),
    layer(14, 1, 1024, 2048, 2),
    layer(14, 1, 1024, 512, 1),
    layer(14, 3, 512, 512, 2),
    layer(7, 1, 512, 2048, 1),
    layer(7, 1, 2048, 512, 1),
    layer(7, 3, 512, 512, 1),
    layer(7, 1, 512, 2048, 1),
];

/// A layer by its input's extent without padding.
const fn layer(extent: i64, window: i64, channels: i64, filters: i64, stride: i64) -> Layer {
    Layer { outputs: extent / stride, window, channels, filters, stride }
}

/// How the tensors of a layer are stored: a level for each dimension, in order, as in `DCCC`; `None` for dense tensors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Formats {
    /// Of the input.
    pub input: Option<&'static str>,
    /// Of the filters.
    pub filters: Option<&'static str>,
}

/// One of the programs that compute a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant<'a> {
    /// The order of the loops; without one, dastac chooses.
    pub(super) order: Option<&'a str>,
    /// How the tensors are stored.
    pub(super) formats: Formats,
}

impl Layer {
    /// The extent of the input's rows and columns.
    pub fn extent(&self) -> i64 {
        self.stride * (self.outputs - 1) + self.window
    }

    /// The program under a loop order; without one, dastac chooses it.
    pub fn source(&self, order: Option<&str>, formats: Formats) -> String {
        let order = super::iters(order);
        let format = |tensor: &str, format: Option<&str>| {
            format.map_or_else(String::new, |format| format!("{tensor}:F := {format}\n"))
        };
        let (input, filters) = (format("I", formats.input), format("F", formats.filters));
        let extent = match self.stride {
            1 => "P + R - 1".to_string(),
            by => format!("{by} * P + R - {by}"),
        };
        let step = match self.stride {
            1 => String::new(),
            by => format!("{by} * "),
        };
        format!(
            "symbols: B, P, C, M, R\n\
             {order}I:D(n, h, w, c) := (0 <= n < B) * (0 <= h < {extent}) * (0 <= w < {extent}) * (0 <= c < C)\n{input}\
             F:D(r, q, c, f) := (0 <= r < R) * (0 <= q < R) * (0 <= c < C) * (0 <= f < M)\n{filters}\
             O:D(n, h, w, f) := (0 <= n < B) * (0 <= h < P) * (0 <= w < P) * (0 <= f < M)\n\
             O(n, h, w, f) := I(n, {step}h + r, {step}w + q, c) * F(r, q, c, f)\n"
        )
    }

    /// `3x3/2, 64 to 256`.
    pub fn title(&self) -> String {
        let Layer { window, channels, filters, stride, .. } = self;
        let stride = if *stride > 1 { format!("/{stride}") } else { String::new() };
        format!("{window}x{window}{stride}, {channels} to {filters}")
    }

    /// A job of it, of one picture.
    pub(super) fn job(
        &self,
        scope: &Scope,
        kernel: &str,
        program: Variant<'_>,
        systems: &[&str],
    ) -> Job {
        let symbols = [
            ("B", 1),
            ("P", self.outputs),
            ("C", self.channels),
            ("M", self.filters),
            ("R", self.window),
        ];
        let source = self.source(program.order, program.formats);
        let job = scope.program(kernel, self.extent(), source, systems);
        Job {
            symbols: symbols.map(|(name, value)| (name.to_string(), value)).to_vec(),
            call: Some(Call::Convolution),
            budget: job.budget / 4.0,
            patience: 1.0,
            ..job
        }
    }
}

/// Which part of the inputs is not there, in per cent: figure 15's.
const SPARSITY: f64 = 80.0;

/// What the kernel of a layer is called.
pub fn kernel(at: usize) -> String {
    format!("layer{:02}", at + 1)
}

/// The layers, with a sparse input.
pub fn layers(scope: &Scope) -> Vec<Job> {
    let formats = Formats { input: Some("DDDC"), ..Formats::default() };
    let systems = ["dastac", "dense", "mlir", "taco-ucf", "torch"];
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for (at, layer) in measured(scope) {
            let kernel = kernel(at);
            let variant = Variant { order: Some(ORDER), formats };
            let job = layer.job(scope, &kernel, variant, &systems);
            jobs.push(Job {
                title: format!("L{} {}", at + 1, layer.title()),
                inputs: vec![("I".into(), Pattern::Uniform(1.0 - SPARSITY / 100.0))],
                threads,
                ..job
            });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// The layers that there is time for, with their places.
pub(super) fn measured(scope: &Scope) -> impl Iterator<Item = (usize, &'static Layer)> {
    let step = if scope.quick { 6 } else { 1 };
    LAYERS.iter().enumerate().skip(step / 2).step_by(step)
}

/// Sparsities of the inputs beside pruned filters; 0 is a dense input.
pub const BESIDE: &[f64] = &[0.0, 50.0, 80.0];

/// Which part of the filters is not there, where no files say it.
const PRUNED: f64 = 0.8;

/// What the kernel of a layer with pruned filters is called.
pub fn pruned_kernel(at: usize, sparsity: f64) -> String {
    format!("pruned{:02}-{sparsity}", at + 1)
}

/// The layers with pruned filters, beside inputs of several sparsities.
pub fn pruned(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "dense", "mlir", "taco-ucf"];
    let mut jobs = Vec::new();
    for (at, layer) in measured(scope) {
        let filters = scope.layers.as_deref().and_then(|folder| file(folder, at));
        let filters = filters.map(|path| {
            let window = [layer.window; 2];
            Pattern::Filters { path, window, first: false }
        });
        for &sparsity in BESIDE {
            let sparse = sparsity > 0.0;
            let formats = Formats { input: sparse.then_some("DDDC"), filters: Some("DDDC") };
            let kernel = pruned_kernel(at, sparsity);
            let variant = Variant { order: Some(ORDER), formats };
            let job = layer.job(scope, &kernel, variant, &systems);
            let input = ("I".to_string(), Pattern::Uniform(1.0 - sparsity / 100.0));
            let own = filters.clone().unwrap_or(Pattern::Uniform(1.0 - PRUNED));
            let inputs = sparse.then_some(input).into_iter().chain([("F".to_string(), own)]);
            jobs.push(Job {
                title: format!("L{} {}, {sparsity}%", at + 1, layer.title()),
                inputs: inputs.collect(),
                ..job
            });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// The folder of filters with this part of their weights pruned.
const FOLDER: &str = "0.8";

/// The file of a layer's filters: `conv_shapes.tsv` names them in the order of [`LAYERS`].
pub(crate) fn file(folder: &Path, at: usize) -> Option<std::path::PathBuf> {
    file_of(folder, FOLDER, at)
}

/// The same of another folder.
pub(super) fn file_of(folder: &Path, pruned: &str, at: usize) -> Option<std::path::PathBuf> {
    let table = std::fs::read_to_string(folder.join("conv_shapes.tsv")).ok()?;
    let name = table.lines().skip(1).nth(at)?.split('\t').next()?.to_string();
    let path = folder.join(pruned).join(format!("{name}.smtx.gz"));
    path.exists().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn programs_are_well_formed() {
        let formats = Formats { input: Some("DCCC"), filters: Some("DDDC") };
        for layer in &LAYERS {
            for order in [Some(ORDER), None] {
                dastac_stur::load(&layer.source(order, formats)).unwrap();
            }
        }
        expect![[r#"
            symbols: B, P, C, M, R
            iters: O -> n, h, w, r, q, c, f
            I:D(n, h, w, c) := (0 <= n < B) * (0 <= h < 2 * P + R - 2) * (0 <= w < 2 * P + R - 2) * (0 <= c < C)
            I:F := DCCC
            F:D(r, q, c, f) := (0 <= r < R) * (0 <= q < R) * (0 <= c < C) * (0 <= f < M)
            F:F := DDDC
            O:D(n, h, w, f) := (0 <= n < B) * (0 <= h < P) * (0 <= w < P) * (0 <= f < M)
            O(n, h, w, f) := I(n, 2 * h + r, 2 * w + q, c) * F(r, q, c, f)
        "#]]
        .assert_eq(&LAYERS[0].source(Some(ORDER), formats));
        assert_eq!((LAYERS[7].extent(), LAYERS[7].title()), (57, "3x3/2, 128 to 128".to_string()));
    }

    #[test]
    fn filters_are_found_by_their_place_in_the_table() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(file(folder.path(), 0), None);
        std::fs::write(folder.path().join("conv_shapes.tsv"), "layer\tN\none\t1\ntwo\t1\n")
            .unwrap();
        std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
        let path = folder.path().join(FOLDER).join("two.smtx.gz");
        std::fs::write(&path, "").unwrap();
        assert_eq!([file(folder.path(), 0), file(folder.path(), 1)], [None, Some(path)]);
    }
}
