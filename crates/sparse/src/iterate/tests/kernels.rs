//! Kernels compute what their expressions say, whatever the formats are.

use std::collections::BTreeMap;

use dastac_loops::interp::{self, Data};
use dastac_loops::{Element, Index, Module, verify};
use proptest::prelude::*;

use crate::format::{Format, Kind, Level};
use crate::iterate::*;
use crate::storage::{Build, Entries, Indices, LevelData, Tensor, Values};

/// A kernel in numbers: extents of iterators, operands, products.
#[derive(Clone, Debug)]
struct Case {
    extents: Vec<u64>,
    operands: Vec<(Vec<usize>, Format, Tensor)>,
    products: Vec<(f64, Vec<usize>)>,
    head: Vec<usize>,
    order: Vec<usize>,
}

/// The module of a case, walks not lowered, and the symbols' values.
fn module_of(case: &Case) -> (Module, Result<(), IterateError>, Vec<i64>) {
    let mut module = Module::default();
    let mut symbols = Vec::new();
    let mut iterators = Vec::new();
    for (at, extent) in case.extents.iter().enumerate() {
        let name = ["i", "j", "k", "l"][at].to_owned();
        iterators.push((name.clone(), Index::Symbol(module.symbol(&name.to_uppercase()))));
        symbols.push(*extent as i64);
    }
    let size = case.head.iter().map(|at| iterators[*at].1.clone()).reduce(|a, b| a * b);
    let result = module.buffer("result", Element::F64, size.unwrap_or(Index::Const(1)));
    let mut operands = Vec::new();
    for (at, (subscripts, format, tensor)) in case.operands.iter().enumerate() {
        let extents = subscripts.iter().map(|at| iterators[*at].1.clone()).collect();
        let name = ["A", "B", "C"][at];
        let types = (Element::F64, Element::U32);
        operands.push(Operand::declare(&mut module, name, (format, extents), types));
        for level in tensor.levels() {
            if let LevelData::Compressed { coordinates, .. } = level {
                symbols.push(coordinates.len() as i64);
            }
        }
    }
    let factor = |operand: &usize| Factor {
        operand: *operand,
        subscripts: case.operands[*operand].0.iter().map(|at| Linear::iterator(*at)).collect(),
    };
    let product = |(coefficient, factors): &(f64, Vec<usize>)| {
        Product::of(*coefficient, factors.iter().map(factor).collect())
    };
    let products = case.products.iter().map(product).collect();
    let (head, order) = (case.head.clone(), case.order.clone());
    let place = Kernel::in_rows(&iterators, &head);
    let kernel = Kernel { iterators, operands, result, head, place, products, order };
    let compiled = compile(&mut module, "kernel", &kernel);
    (module, compiled, symbols)
}

fn ints(indices: &Indices) -> Data {
    Data::Int(indices.iter().map(|at| at as i64).collect())
}

fn run(module: &Module, case: &Case, symbols: &[i64]) -> Vec<f64> {
    let size: u64 = case.head.iter().map(|at| case.extents[*at]).product();
    let mut data = vec![Data::Float(vec![9.0; size as usize])];
    for (.., tensor) in &case.operands {
        for level in tensor.levels() {
            match level {
                LevelData::Dense => {}
                LevelData::Compressed { positions, coordinates } => {
                    data.extend([ints(positions), ints(coordinates)]);
                }
                LevelData::Singleton { coordinates } => data.push(ints(coordinates)),
            }
        }
        let Values::F64(values) = tensor.values() else { panic!() };
        data.push(Data::Float(values.clone()));
    }
    interp::run(module, "kernel", symbols, &mut data)
        .map_err(|error| format!("{error}\n{module}"))
        .unwrap();
    data[0].as_float().unwrap().to_vec()
}

/// By loops over all iterators of each product and the head.
fn expected(case: &Case) -> Vec<f64> {
    let size: u64 = case.head.iter().map(|at| case.extents[*at]).product();
    let mut result = vec![0.0; size as usize];
    for (coefficient, factors) in &case.products {
        let used: Vec<usize> = (0..case.extents.len())
            .filter(|at| {
                case.head.contains(at) || factors.iter().any(|f| case.operands[*f].0.contains(at))
            })
            .collect();
        let count: u64 = used.iter().map(|at| case.extents[*at]).product();
        for mut nth in 0..count {
            let mut at = BTreeMap::new();
            for iterator in &used {
                at.insert(*iterator, nth % case.extents[*iterator]);
                nth /= case.extents[*iterator];
            }
            let mut value = *coefficient;
            for factor in factors {
                let (subscripts, _, tensor) = &case.operands[*factor];
                let element: Vec<u64> = subscripts.iter().map(|iterator| at[iterator]).collect();
                value *= match tensor.get(&element) {
                    Some(crate::storage::Scalar::F64(value)) => value,
                    None => 0.0,
                    _ => panic!(),
                };
            }
            let place = case.head.iter().fold(0, |place, it| place * case.extents[*it] + at[it]);
            result[place as usize] += value;
        }
    }
    result
}

fn tensor(shape: Vec<u64>, format: &Format, seed: usize) -> Tensor {
    let count: u64 = shape.iter().product();
    let (mut coordinates, mut values) = (Vec::new(), Vec::new());
    for at in 0..count {
        // Some rows are empty, some full.
        let chosen = (at as usize).wrapping_mul(seed * 2 + 3) % 7;
        if chosen > seed % 6 {
            continue;
        }
        let mut rest = at;
        let mut element: Vec<u64> = shape
            .iter()
            .rev()
            .map(|extent| {
                let here = rest % extent;
                rest /= extent;
                here
            })
            .collect();
        element.reverse();
        coordinates.extend(element);
        values.push((at as usize * 5 + seed) as f64 % 7.0 - 3.0);
    }
    let entries = Entries::new(shape, coordinates, Values::F64(values)).unwrap();
    Tensor::from_entries(&entries, format, Build::default()).unwrap()
}

fn cases() -> impl Strategy<Value = Case> {
    let extents = prop::collection::vec(0u64..6, 4);
    let operand = (
        prop::sample::subsequence(vec![0usize, 1, 2, 3], 1..=3).prop_shuffle(),
        prop::collection::vec(any::<bool>(), 3),
        Just(vec![0usize, 1, 2]).prop_shuffle(),
        0usize..20,
    );
    let operands = prop::collection::vec(operand, 1..4);
    let product = (prop::sample::select(vec![1.0, -2.0]), prop::collection::vec(0usize..3, 1..4));
    let products = prop::collection::vec(product, 1..4);
    let head = prop::sample::subsequence(vec![0usize, 1, 2, 3], 0..=3).prop_shuffle();
    let order = Just(vec![0usize, 1, 2, 3]).prop_shuffle();
    (extents, operands, products, head, order).prop_map(
        |(extents, operands, products, head, order)| {
            let operands: Vec<(Vec<usize>, Format, Tensor)> = operands
                .into_iter()
                .map(|(subscripts, sparse, order, seed)| {
                    let rank = subscripts.len();
                    let level = |sparse: &bool| Level {
                        kind: if *sparse { Kind::Compressed } else { Kind::Dense },
                        ..Level::COMPRESSED
                    };
                    let levels = sparse[..rank].iter().map(level).collect();
                    let order = order.into_iter().filter(|at| *at < rank).collect();
                    let format = Format::new(levels, order).unwrap();
                    let shape = subscripts.iter().map(|at| extents[*at]).collect();
                    let tensor = tensor(shape, &format, seed);
                    (subscripts, format, tensor)
                })
                .collect();
            let products = products
                .into_iter()
                .map(|(number, factors): (f64, Vec<usize>)| {
                    (number, factors.into_iter().map(|at| at % operands.len()).collect())
                })
                .collect();
            Case { extents, operands, products, head, order }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn kernels_compute_their_expressions(case in cases()) {
        let (module, compiled, symbols) = module_of(&case);
        match compiled {
            Err(IterateError::Cycle { .. }) => return Ok(()),
            Err(IterateError::Cursors(count)) if count > MOST_CURSORS => return Ok(()),
            other => prop_assert_eq!(other, Ok(()), "{:?}", case),
        }
        prop_assert_eq!(verify(&module), Ok(()), "{}", module);
        let wanted = expected(&case);
        prop_assert_eq!(&run(&module, &case, &symbols), &wanted, "{}", module);
        let mut lowered = module.clone();
        lower(&mut lowered);
        prop_assert_eq!(verify(&lowered), Ok(()), "{}", lowered);
        prop_assert_eq!(&run(&lowered, &case, &symbols), &wanted, "{}\n{}", module, lowered);
    }
}

/// A case of the iterators i, j, k, l, with formats by code, and factors of products by operand.
fn shown(
    operands: &[(&[usize], &str)],
    products: &[&[usize]],
    head: &[usize],
    order: &[usize],
) -> String {
    let extents = vec![4, 5, 3, 2];
    let operands = operands.iter().map(|(subscripts, code)| {
        let format = crate::format::parse(code, &["i", "j"][..subscripts.len()]).unwrap();
        let shape = subscripts.iter().map(|at| extents[*at]).collect();
        (subscripts.to_vec(), format.clone(), tensor(shape, &format, 2))
    });
    let case = Case {
        operands: operands.collect(),
        products: products.iter().map(|product| (1.0, product.to_vec())).collect(),
        head: head.to_vec(),
        order: order.to_vec(),
        extents: extents.clone(),
    };
    let (module, compiled, symbols) = module_of(&case);
    if let Err(error) = compiled {
        return error.to_string();
    }
    assert_eq!(run(&module, &case, &symbols), expected(&case), "{module}");
    module.functions[0].to_string()
}

#[test]
fn kernels_look_as_they_should() {
    let csr: (&[usize], &str) = (&[0, 1], "csr");
    // A matrix times a vector, and times a matrix.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = sum(pj = b1[i] to b1[i + 1]) b3[pj] * b4[b2[pj]]
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, (&[1], "D")], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            parallel k = 0 to p2 {
              b0[i * p2 + k] = sum(pj = b1[i] to b1[i + 1]) b3[pj] * b4[b2[pj] * p2 + k]
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, (&[1, 2], "DD")], &[&[0, 1]], &[0, 2], &[0, 2, 1, 3]));
    // Columns first: the loop over columns goes outside.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          for j = 0 to p1 {
            parallel pi = b1[j] to b1[j + 1] {
              b0[b2[pi]] += b3[pi] * b4[j]
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[(&[0, 1], "csc"), (&[1], "D")], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
    // A sparse vector, and a sum.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          parallel i = 0 to p0 {
            coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b4[0] to b4[1] at b5[pj_1] within {
              case pj, pj_1 {
                b0[i] += b3[pj] * b6[pj_1]
              }
            }
          }
        }
    "#]].assert_eq(&shown(
        &[csr, (&[1], "C")],
        &[&[0, 1]],
        &[0],
        &[0, 1, 2, 3],
    ));
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6, in b7, in b8) {
          parallel i = 0 to p0 {
            parallel j = 0 to p1 {
              b0[i * p1 + j] = 0.0
            }
          }
          coiter i = 0 to p0 over pi = b4[0] to b4[1] at b5[pi] within {
            case pi {
              coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b6[pi] to b6[pi + 1] at b7[pj_1] within {
                case pj, pj_1 {
                  b0[i * p1 + j] += b3[pj] + b8[pj_1]
                }
                case pj {
                  b0[i * p1 + j] += b3[pj]
                }
                case pj_1 {
                  b0[i * p1 + j] += b8[pj_1]
                }
              }
            }
            case {
              parallel pj = b1[i] to b1[i + 1] {
                b0[i * p1 + b2[pj]] += b3[pj]
              }
            }
          }
        }
    "#]].assert_eq(&shown(
        &[csr, (&[0, 1], "csf")],
        &[&[0], &[1]],
        &[0, 1],
        &[0, 1, 2, 3],
    ));
    // A contradiction.
    expect_test::expect!["no order of the loops walks 0, 1 from its first level on"]
        .assert_eq(&shown(&[csr, (&[0, 1], "csc")], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
}
