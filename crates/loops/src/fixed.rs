//! Modules for given sizes.

use crate::ir::*;

impl Module {
    /// Puts values in the place of the first symbols. What is for other sizes alone, such as the ends of loops that
    /// tiles divide, or the other side of a choice between two ways to compute, is dropped by the pass `fold`
    /// afterwards.
    ///
    /// The symbols stay parameters, so the interface is the same; callers must pass these values.
    ///
    /// `for i = 0 to N { .. }` with `N` as 13 -> `for i = 0 to 13 { .. }`
    pub fn fix_symbols(&mut self, values: &[i64]) {
        let leaf = |leaf: &Index| match leaf {
            Index::Symbol(id) => {
                values.get(id.0 as usize).map_or_else(|| leaf.clone(), |value| Index::Const(*value))
            }
            _ => leaf.clone(),
        };
        for buffer in &mut self.buffers {
            buffer.size = buffer.size.rebuild(&leaf);
        }
        for function in &mut self.functions {
            function.body = function.body.iter().map(|stmt| stmt.rebuild(&leaf)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::machine::Machine;
    use crate::{parse, passes, verify};

    #[test]
    fn what_is_for_other_sizes_is_dropped() {
        let mut module = parse(
            "module(N, M)\nbuffer A : f64[N * M]\nfunc f(inout A) { if N * M < 1000 { for i = 0 to N - 7 step 8 {\
             A[i + M] = 0.0 } for i = 8 * (N / 8) to N { A[i * M] = 1.0 } } else { for i = 0 to N { A[i] = 2.0 } } }",
        )
        .unwrap();
        let fold = passes::find(passes::FIXED.passes[0]).unwrap();
        let mut fixed = |values: &[i64]| {
            module.fix_symbols(values);
            (fold.run)(&mut module, &passes::Context::of(&Machine::PLAIN));
            verify(&module).unwrap();
            module.to_string()
        };
        expect![[r#"
            module(N, M)
            buffer A : f64[16 * M]
            func f(inout A) {
              if 16 * M < 1000 {
                for i = 0 to 9 step 8 {
                  A[i + M] = 0.0
                }
              } else {
                for i = 0 to 16 {
                  A[i] = 2.0
                }
              }
            }
        "#]]
        .assert_eq(&fixed(&[16]));
        expect![[r#"
            module(N, M)
            buffer A : f64[80]
            func f(inout A) {
              for i = 0 to 9 step 8 {
                A[i + 5] = 0.0
              }
            }
        "#]]
        .assert_eq(&fixed(&[16, 5]));
    }
}
