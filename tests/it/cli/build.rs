//! `dastac build`: a C program packs, computes and unpacks through the library, without anything of dastac's.

use std::fs;
use std::process::Command;

use expect_test::expect;

use super::{Folder, SYMMETRIC};

/// y = a B x for a symmetric B, compared with plain loops.
const MAIN: &str = r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "sym.h"

int main(void) {
    for (int64_t n = 0; n < 9; n++) {
        int64_t params[SYM_PARAMS] = {n}, sizes[4];
        sym_sizes(params, sizes);
        /* y, a, B, x: in the order of the header; where there is no y, a is not used */
        int64_t expected[4] = {n, n > 0, n * (n + 1) / 2, n};
        for (int k = 0; k < 4; k++)
            if (sizes[k] != expected[k]) return printf("size %d of n = %d\n", k, (int)n), 1;
        double *dense = malloc((n * n + 1) * sizeof *dense), *back = malloc((n * n + 1) * sizeof *back);
        double *b = malloc((sizes[2] + 1) * sizeof *b), *y = malloc((n + 1) * sizeof *y);
        double *x = malloc((n + 1) * sizeof *x), *y_packed = malloc((n + 1) * sizeof *y_packed);
        double a = 0.5, a_packed;
        for (int64_t i = 0; i < n; i++) {
            x[i] = 1.0 / (i + 1);
            for (int64_t j = 0; j < n; j++) dense[i * n + j] = i + j + i * j;
        }
        sym_pack_a(params, &a, &a_packed);
        sym_pack_B(params, dense, b);
        sym_kernel(params, y_packed, &a_packed, b, x);
        sym_unpack_y(params, y_packed, y);
        sym_unpack_B(params, b, back);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += a * dense[i * n + j] * x[j];
                if (back[i * n + j] != dense[i * n + j]) return printf("unpacked (%d, %d)\n", (int)i, (int)j), 1;
            }
            if (fabs(sum - y[i]) > 1e-12) return printf("y[%d] of n = %d\n", (int)i, (int)n), 1;
        }
        /* The same through an array of pointers. */
        void *buffers[] = {y, &a_packed, b, x};
        sym_kernel__packed(params, buffers);
        for (int64_t i = 0; i < n; i++)
            if (y[i] != y_packed[i]) return printf("packed call\n"), 1;
        free(dense), free(back), free(b), free(y), free(x), free(y_packed);
    }
    puts("right");
    return 0;
}
"#;

impl Folder {
    fn run_c(&self, main: &str, link: &[&str]) -> String {
        fs::write(self.path("main.c"), main).unwrap();
        let compiled = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"])
            .args(link)
            .args(["-lm", "-Wl,-rpath,$ORIGIN"])
            .current_dir(self.path("."))
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(self.path("main")).output().unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    }
}

fn symmetric() -> Folder {
    let folder = Folder::new("");
    fs::write(folder.path("sym.stur"), SYMMETRIC).unwrap();
    folder
}

#[test]
fn a_c_program_calls_the_shared_library() {
    let folder = symmetric();
    let text = folder.works("build sym.stur -o libsym.so --header sym.h");
    expect![[r#"
        libsym.so: sym_kernel, sym_sizes, sym_pack_y, sym_unpack_y, sym_pack_a, sym_unpack_a, sym_pack_B, sym_unpack_B, sym_pack_x, sym_unpack_x; needs OpenMP's library (libomp) to run
        sym.h: how to call them
    "#]].assert_eq(&text);
    assert_eq!(folder.files(), ["libsym.so", "sym.h", "sym.stur"]);
    assert_eq!(folder.run_c(MAIN, &["-L.", "-lsym"]), "right\n");
}

#[test]
fn a_c_program_links_the_object_file() {
    let folder = symmetric();
    folder.works("build sym.stur -o sym.o --header sym.h --threads 1");
    // Without OpenMP it needs nothing at all.
    assert_eq!(folder.run_c(MAIN, &["sym.o"]), "right\n");
}

/// The diagonal of B, copied by a block, times x.
const BLOCK: &str = "symbols: N
@preprocess_start
D(i) := B(i, j) * (i = j)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
@preprocess_end
y(i) := D(i) * x(i)
x:D(i) := (0 <= i < N)
";

/// `kernel` reads what `prepare` wrote, and not B.
const PREPARE: &str = r#"
#include <stdio.h>
#include "block.h"

int main(void) {
    enum { n = 5 };
    int64_t params[BLOCK_PARAMS] = {n};
    double dense[n * n], x[n], b[n], d[n], y[n];
    for (int i = 0; i < n; i++) {
        x[i] = i - 2;
        for (int j = 0; j < n; j++) dense[i * n + j] = 10 * i + j + 1;
    }
    block_pack_B(params, dense, b);
    block_prepare(params, d, b);
    for (int i = 0; i < n; i++) b[i] = -1;
    for (int again = 0; again < 2; again++) {
        block_kernel(params, d, y, x);
        for (int i = 0; i < n; i++)
            if (y[i] != (11 * i + 1) * x[i]) return printf("y[%d] is %g\n", i, y[i]), 1;
    }
    void *prepared[] = {d, b}, *computed[] = {d, y, x};
    b[3] = 7;
    block_prepare__packed(params, prepared);
    block_kernel__packed(params, computed);
    if (y[3] != 7 * x[3] || y[0] != -x[0]) return printf("packed call\n"), 1;
    puts("right");
    return 0;
}
"#;

#[test]
fn a_library_exports_what_prepares() {
    let folder = Folder::new("");
    fs::write(folder.path("block.stur"), BLOCK).unwrap();
    let text = folder.works("build block.stur -o libblock.so --header block.h --threads 1");
    assert!(text.starts_with("libblock.so: block_kernel, block_prepare, "), "{text}");
    assert_eq!(folder.run_c(PREPARE, &["-L.", "-lblock"]), "right\n");
}

/// A sum of two sparse matrices: counted, allocated, filled.
const COUNTED: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "sum.h"

int main(void) {
    int64_t params[SUM_PARAMS] = {2, 3};
    params[SUM_PARAM_A_count1] = 2;
    params[SUM_PARAM_B_count1] = 2;
    uint32_t pos_a[] = {0, 2, 2}, crd_a[] = {0, 2}, pos_b[] = {0, 1, 2}, crd_b[] = {2, 1};
    double a[] = {1, 2}, b[] = {3, 4}, y[2];
    int64_t starts[3];
    sum_count_C(params, starts, pos_a, crd_a, a, pos_b, crd_b, b);
    int64_t count = params[SUM_PARAM_C_count1] = starts[2];
    uint32_t *pos = malloc(3 * sizeof *pos), *crd = malloc(count * sizeof *crd);
    double *c = malloc(count * sizeof *c);
    sum_fill_C(params, pos, crd, c, starts, pos_a, crd_a, a, pos_b, crd_b, b);
    sum_kernel(params, pos, crd, c, y);
    if (count != 3 || pos[1] != 2 || crd[1] != 2 || c[1] != 5 || c[2] != 4)
        return printf("%d positions\n", (int)count), 1;
    if (y[0] != 6 || y[1] != 4) return printf("%g, %g\n", y[0], y[1]), 1;
    puts("right");
    return 0;
}
"#;

#[test]
fn a_library_counts_results_before_it_fills_them() {
    let folder = Folder::new("");
    let program = "symbols: M, N
C(i, j) := A(i, j) + B(i, j)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < M) * (0 <= j < N)
B:F := csr
C:D(i, j) := (0 <= i < M) * (0 <= j < N)
C:F := csr
y(i) := C(i, j)
";
    fs::write(folder.path("sum.stur"), program).unwrap();
    let text = folder.works("build sum.stur -o sum.o --header sum.h --threads 1");
    assert!(text.starts_with("sum.o: sum_count_C, sum_fill_C, sum_kernel, "), "{text}");
    assert_eq!(folder.run_c(COUNTED, &["sum.o"]), "right\n");
    let header = fs::read_to_string(folder.path("sum.h")).unwrap();
    let (_, after) = header.split_once("Tensors, and where").unwrap();
    let (head, _) = after.split_once(" * Each function").unwrap();
    let head: String = head.lines().map(|line| format!("{}\n", line.trim())).collect();
    expect![[r#"
         the element with these subscripts is in the packed buffer:
         * C(i, j), output, extents (M, N): levels dense(i), compressed(j)
         * A(i, j), input, extents (M, N): levels dense(i), compressed(j)
         * B(i, j), input, extents (M, N): levels dense(i), compressed(j)
         * y(i), output, extents (M): at i
         *
         * sum_count_C counts C: set the parameter C.count1 the last element of C.starts1. Then the arrays
         * of C, which the caller allocates, have the sizes that these parameters say. What is not counted
         * yet is 0.
    "#]].assert_eq(&head);
    let (_, after) = header.split_once("SUM_PARAMS = ").unwrap();
    let (_, after) = after.split_once("};").unwrap();
    let (function, _) = after.split_once("void sum_count_C__packed").unwrap();
    expect![[r#"


        /*
         * Counts what C will hold; computes what comes before it in the program.
         * C_starts1: written; size M + 1. Where the positions of level 1 of C begin, and how many there
         * are: its last element is the parameter C.count1
         * A_pos1: read; size M + 1. Level 1 of A: where the coordinates below each position begin, then
         * where the last ones end
         * A_crd1: read; size A.count1. Coordinates of level 1 of A, ascending below each position
         * A: read; size A.count1. Values of A, by position of its last level
         * B_pos1: read; size M + 1. Level 1 of B: where the coordinates below each position begin, then
         * where the last ones end
         * B_crd1: read; size B.count1. Coordinates of level 1 of B, ascending below each position
         * B: read; size B.count1. Values of B, by position of its last level
         */
        void sum_count_C(const int64_t *params, int64_t *C_starts1, const uint32_t *A_pos1, const uint32_t *A_crd1, const double *A, const uint32_t *B_pos1, const uint32_t *B_crd1, const double *B);
    "#]].assert_eq(function);
}

#[test]
fn header() {
    let folder = symmetric();
    folder.works("build sym.stur -o sym.o --header sym.h --threads 1");
    let header = fs::read_to_string(folder.path("sym.h")).unwrap();
    let (head, _) = header.split_once("#ifdef __cplusplus").unwrap();
    expect![[r#"
        /*
         * sym.stur, compiled by dastac 0.1.0.
         *
         * Every tensor has a packed buffer, which holds its unique elements only. Call sym_sizes for the
         * sizes, sym_pack_T for the inputs, sym_kernel, and sym_unpack_T for the results. Parameters must
         * not be negative, and so small that every position fits 64 bits (`dastac layout` checks it for
         * given sizes).
         *
         * Tensors, and where the element with these subscripts is in the packed buffer:
         * y(i), output, extents (N): at i
         * a(), input: a scalar
         * B(i, j), input, extents (N, N): at N*i - 1/2*i^2 - 1/2*i + j
         * x(j), input, extents (N): at j
         * Each function takes the parameters as one array of int64_t, then its buffers. Buffers must not
         * overlap; those marked const are only read. 64-byte alignment is faster but not required. The form
         * named __packed takes the same buffers, in the same order, as one array of pointers. Sizes are
         * numbers of elements; `/` rounds down and `%` is never negative.
         */
        #ifndef SYM_H
        #define SYM_H

        #include <stdint.h>

    "#]].assert_eq(head);
}

/// The program in the comment at the end of a header.
fn example_of(header: &str) -> String {
    let (_, example) = header.rsplit_once(" * Example: ").unwrap();
    let (example, _) = example.split_once(" */").unwrap();
    let lines = example.lines().skip_while(|line| !line.contains("#include"));
    let text = |line: &str| {
        let line = line.trim_start_matches(" *");
        format!("{}\n", line.strip_prefix("   ").unwrap_or(line))
    };
    lines.map(text).collect()
}

/// The example of a header is a program of C that calls everything, whatever there is to call.
#[test]
fn the_example_of_a_header_is_a_program() {
    let formats = |format: &str| {
        format!(
            "symbols: M, N\nC(i, j) := A(i, j) + B(i, j)\ny(i) := C(i, j) * x(j)\n\
             A:D(i, j) := (0 <= i < M) * (0 <= j < N)\nA:F := {format}\n\
             B:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:U(i, j) := (i = j)\n\
             C:D(i, j) := (0 <= i < M) * (0 <= j < N)\nC:F := {format}\nx:D(j) := (0 <= j < N)\n"
        )
    };
    for program in
        [SYMMETRIC.to_string(), BLOCK.into(), formats("csr"), formats("dcsr"), formats("csf")]
    {
        let folder = Folder::new(&program);
        folder.works("build p.stur -o k.o --header any.h --threads 1");
        let example = example_of(&fs::read_to_string(folder.path("any.h")).unwrap());
        assert_eq!(folder.run_c(&example, &["k.o"]), "", "{example}");
    }
}

#[test]
fn the_example_counts_before_it_fills() {
    let folder = Folder::new(
        "symbols: N
C(i, j) := A(i, j) * A(j, i)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
C:F := csr
",
    );
    let header = folder.works("emit p.stur --stage header");
    expect![[r#"
           #include <stdlib.h>
           #include "dastac.h"

           int main(void) {
             int64_t params[DASTAC_PARAMS] = {0};
             params[DASTAC_PARAM_N] = 4;
             params[DASTAC_PARAM_A_count1] = 0;
             params[DASTAC_PARAM_A_copy_count1] = 0;
             int64_t *C_starts1 = calloc(params[DASTAC_PARAM_N] + 1 + 1, sizeof *C_starts1);
             uint32_t *A_pos1 = calloc(params[DASTAC_PARAM_N] + 1 + 1, sizeof *A_pos1);
             uint32_t *A_crd1 = calloc(params[DASTAC_PARAM_A_count1] + 1, sizeof *A_crd1);
             double *A = calloc(params[DASTAC_PARAM_A_count1] + 1, sizeof *A);
             uint32_t *A_copy_pos1 = calloc(params[DASTAC_PARAM_N] + 1 + 1, sizeof *A_copy_pos1);
             uint32_t *A_copy_crd1 = calloc(params[DASTAC_PARAM_A_copy_count1] + 1, sizeof *A_copy_crd1);
             double *A_copy = calloc(params[DASTAC_PARAM_A_copy_count1] + 1, sizeof *A_copy);
             count_C(params, C_starts1, A_pos1, A_crd1, A, A_copy_pos1, A_copy_crd1, A_copy);
             params[DASTAC_PARAM_C_count1] = C_starts1[params[DASTAC_PARAM_N] + 1 - 1];
             uint32_t *C_pos1 = calloc(params[DASTAC_PARAM_N] + 1 + 1, sizeof *C_pos1);
             uint32_t *C_crd1 = calloc(params[DASTAC_PARAM_C_count1] + 1, sizeof *C_crd1);
             double *C = calloc(params[DASTAC_PARAM_C_count1] + 1, sizeof *C);
             kernel(params, C_pos1, C_crd1, C, C_starts1, A_pos1, A_crd1, A, A_copy_pos1, A_copy_crd1, A_copy);
             free(C_starts1);
             free(A_pos1);
             free(A_crd1);
             free(A);
             free(A_copy_pos1);
             free(A_copy_crd1);
             free(A_copy);
             free(C_pos1);
             free(C_crd1);
             free(C);
             return 0;
           }
    "#]].assert_eq(&example_of(&header));
}

#[test]
fn names() {
    let folder = symmetric();
    for (prefix, name) in [(" --prefix my_", "my_kernel"), (" --prefix=", "kernel")] {
        let text = folder.works(&format!("build sym.stur -o sym.o{prefix} --threads 1"));
        assert!(text.starts_with(&format!("sym.o: {name}, ")), "{text}");
    }
    folder.fails("build sym.stur -o sym.o --prefix 3d", 2, &expect![[r#"
        error: invalid value '3d' for '--prefix <TEXT>': no C name begins like this; use letters, digits and `_`, not a digit first

        For more information, try '--help'.
    "#]]);
    let output = folder.dastac("build sym.stur -o sym.o --cpu pdp11");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: unknown CPU `pdp11`; known are "), "{message}");
    folder.fails(
        "build sym.stur -o nowhere/sym.so",
        1,
        &expect![[r#"
        error: cannot write `nowhere/sym.so`: there is no folder `nowhere`
    "#]],
    );
}
