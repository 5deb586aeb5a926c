//! What leaves the process: assembly, shared libraries, headers; and what must not be in it.

use super::*;
use crate::Processor;
use crate::header::{HeaderOptions, c_header};
use crate::link::{self, LinkError};
use dastac_runtime::openmp;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn named(name: &str) -> Options {
    let cpu = CpuTarget::named(name).unwrap();
    Options { cpu, ..Options::default() }
}

#[test]
fn widest_vectors() {
    // Code for a CPU with AVX-512, whether or not this one has it, and for one without.
    let module = kernels::triangular();
    let wide = compile(&module, &named("skylake-avx512")).unwrap().text("asm");
    assert!(wide.contains("zmm") && wide.contains("vfmadd"), "{wide}");
    let narrow = compile(&module, &named("haswell")).unwrap().text("asm");
    assert!(!narrow.contains("zmm") && narrow.contains("ymm") && narrow.contains("vfmadd"));
    let old = compile(&module, &named("x86-64")).unwrap().text("asm");
    assert!(!old.contains("ymm") && !old.contains("vfmadd"));

    if !Processor::host_has("avx512f") {
        eprintln!("skipped for the host: it has no AVX-512");
        return;
    }
    let host = compiled(&module, false).text("asm");
    assert!(host.contains("zmm") && host.contains("vfmadd"), "{host}");
}

#[test]
fn wide_vectors_inside_parallel_loops() {
    let options = Options { parallel: true, ..named("skylake-avx512") };
    let assembly = compile(&parallel::rows(), &options).unwrap().text("asm");
    assert!(assembly.contains("__kmpc_") && assembly.contains("zmm"), "{assembly}");
}

#[test]
fn unknown_processors_are_errors() {
    assert!(matches!(CpuTarget::named("i8086"), Err(TargetError::UnknownCpu { .. })));
    for feature in ["avx2", "+avx3", "", "+"] {
        let cpu = CpuTarget::with_features("haswell", &[feature]);
        assert!(matches!(cpu, Err(TargetError::UnknownFeature(_))), "{feature}");
    }
    let cpu = CpuTarget::with_features("haswell", &["-avx", "-fma"]).unwrap();
    let without = compile(&kernels::triangular(), &Options { cpu, ..Options::default() }).unwrap();
    assert!(!without.text("asm").contains("ymm"));
}

/// Dynamic symbols defined in a file, by `nm`.
fn exports(file: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(file).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

#[test]
fn the_program_exports_no_isl() {
    // MLIR's libraries bring a copy of isl. Were it visible, the one loaded at run time would bind to it.
    let found = exports(&std::env::current_exe().unwrap());
    assert!(!found.iter().any(|name| name.starts_with("isl_")), "{found:?}");
}

fn sum_of_rows(n: usize, l: &[f64], x: &[f64]) -> Vec<f64> {
    (0..n).map(|i| (0..=i).map(|j| l[i * (i + 1) / 2 + j] * x[j]).sum()).collect()
}

#[test]
fn shared_library_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for parallel in [false, true] {
        let path = folder.path().join(format!("lib{parallel}.so"));
        let module = kernels::triangular_rows(parallel);
        let options = Options { prefix: "tri_".to_owned(), parallel, ..Options::default() };
        let compiled = compile(&module, &options).unwrap();
        let openmp = compiled.needs_openmp().then(|| openmp::place().unwrap());
        link::shared_library(compiled.object(), &path, openmp.as_deref()).unwrap();
        assert_eq!(exports(&path), ["tri_trmv", "tri_trmv__packed"]);

        let n = 50;
        let (l, x, mut y) = (numbers(n * (n + 1) / 2), numbers(n), vec![0.0; n]);
        type Function = unsafe extern "C" fn(*const i64, *const f64, *const f64, *mut f64);
        // SAFETY: the library has no initialisers beyond the C runtime's; the function has this type, and the
        // buffers the sizes that it expects.
        unsafe {
            let library = libloading::Library::new(&path).unwrap();
            let function = library.get::<Function>(b"tri_trmv\0").unwrap();
            function(&(n as i64), l.as_ptr(), x.as_ptr(), y.as_mut_ptr());
            // OpenMP's threads may still run code on its pages: it stays loaded.
            std::mem::forget(library);
        }
        assert_eq!(y, sum_of_rows(n, &l, &x));
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "temporary files are left: {left:?}");
}

#[test]
fn linking_fails_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libx.so");
    let error = link::shared_library(b"no object", &path, None).unwrap_err();
    assert!(matches!(error, LinkError::Failed { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = folder.path().join("missing/libx.so");
    assert!(matches!(link::shared_library(b"", &nowhere, None), Err(LinkError::Write { .. })));
    assert!(matches!(
        link::shared_library(b"", Path::new("/"), None),
        Err(LinkError::Write { .. })
    ));
}

#[test]
fn c_program_with_header() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let module = kernels::triangular();
    let options = Options { prefix: "k_".to_owned(), ..Options::default() };
    let compiled = compile(&module, &options).unwrap();
    link::shared_library(compiled.object(), &file("libk.so"), None).unwrap();
    let options = HeaderOptions { prefix: "k_".to_owned(), ..HeaderOptions::default() };
    std::fs::write(file("k.h"), c_header(&module, &options).unwrap()).unwrap();
    let program = r#"
        #include "k.h"
        #include <stdio.h>
        int main(void) {
          int64_t params[K_TRMV_PARAMS];
          params[K_TRMV_PARAM_n] = 3;
          double L[6] = {1, 2, 3, 4, 5, 6}, x[3] = {1, 10, 100}, y[3];
          k_trmv(params, L, x, y);
          printf("%g %g %g\n", y[0], y[1], y[2]);
          void *buffers[] = {L, x, y};
          y[2] = 0;
          k_trmv__packed(params, buffers);
          printf("%g\n", y[2]);
          return 0;
        }"#;
    std::fs::write(file("main.c"), program).unwrap();
    let status = Command::new("cc")
        .args(["-std=c99", "-pedantic", "-Wall", "-Werror", "-o"])
        .arg(file("main"))
        .arg(file("main.c"))
        .arg(file("libk.so"))
        .status()
        .unwrap();
    assert!(status.success());
    let output = Command::new(file("main")).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 32 654\n654\n");
}

#[test]
fn header_text() {
    let mut build = Build::new("pack");
    let n = build.symbol("n");
    let m = build.symbol("m");
    let size =
        (n.clone() * (n.clone() + 1) * (n.clone() + 2)).exact_div(6) - (m.clone() - n.clone());
    build.buffer("int", Element::F32, Mode::In, size);
    build.buffer("a.b", Element::I64, Mode::InOut, n.clone().max(m.clone() - 1));
    let condition = Condition::Compare(Compare::Lt, n.clone(), m.clone());
    build.buffer(
        "a_b",
        Element::F64,
        Mode::Out,
        Index::Select(Box::new(condition), Box::new(n), Box::new(m)),
    );
    let module = build.finish(vec![]);
    let options = HeaderOptions {
        doc: "Kernels of a test. Comments cannot be ended */ early.".to_owned(),
        functions: BTreeMap::from([("pack".to_owned(), "Packs.".to_owned())]),
        buffers: BTreeMap::from([("a_b".to_owned(), "The result.".to_owned())]),
        ..HeaderOptions::default()
    };
    expect_test::expect![[r#"
        /*
         * Kernels of a test. Comments cannot be ended * / early.
         * Each function takes the parameters as one array of int64_t, then its buffers. Buffers must not
         * overlap; those marked const are only read. 64-byte alignment is faster but not required. The form
         * named __packed takes the same buffers, in the same order, as one array of pointers. Sizes are
         * numbers of elements; `/` rounds down and `%` is never negative.
         */
        #ifndef PACK_H
        #define PACK_H

        #include <stdint.h>

        #ifdef __cplusplus
        extern "C" {
        #endif

        /*
         * Positions in `params`.
         */
        enum {
          PACK_PARAM_n = 0, /* n */
          PACK_PARAM_m = 1, /* m */
          PACK_PARAMS = 2 /* how many there are */
        };

        /*
         * Packs.
         * int_: read; size n*(n + 1)*(n + 2)/6 - (m - n)
         * a_b: read and written; size max(n, m - 1)
         * a_b_2: written; size (n < m ? n : m). The result.
         */
        void pack(const int64_t *params, const float *int_, int64_t *a_b, double *a_b_2);
        void pack__packed(const int64_t *params, void *const *buffers);

        #ifdef __cplusplus
        }
        #endif

        /*
         * Example:
         *
         *   int64_t params[PACK_PARAMS];
         *   params[PACK_PARAM_n] = ...;
         *   params[PACK_PARAM_m] = ...;
         *   float *int_ = ...; // n*(n + 1)*(n + 2)/6 - (m - n) elements
         *   int64_t *a_b = ...; // max(n, m - 1) elements
         *   double *a_b_2 = ...; // (n < m ? n : m) elements
         *   pack(params, int_, a_b, a_b_2);
         */
        #endif /* PACK_H */
    "#]].assert_eq(&c_header(&module, &options).unwrap());
    let bad = HeaderOptions { guard: "1x".to_owned(), ..options };
    assert!(matches!(c_header(&module, &bad), Err(TargetError::Name(_))));
}
