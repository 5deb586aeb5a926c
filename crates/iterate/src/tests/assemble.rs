//! Results in formats have the values that loops over everything give, and just the elements where products have
//! points.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::interp::{self, Data};
use dastac_loops::{BufferId, Element, Module, verify};
use dastac_stur::semiring::Semiring;
use proptest::prelude::*;

use super::kernels::{
    RandomKernel, Stored, Sum, Term, cases, each_point, inputs, it, kernel_of, tensor,
};
use crate::*;
use dastac_elements::{Scalar, Storage};
use dastac_formats::format::{Format, Level};
use dastac_formats::storage::{Indices, LevelData, Tensor};

/// What a case with a result in a format became.
pub(super) struct Assembled {
    pub(super) module: Module,
    result: Operand,
    structure: Structure,
    symbols: Vec<i64>,
}

pub(super) fn assembled(case: &RandomKernel, format: &Format) -> Result<Assembled, IterateError> {
    assembled_in(case, format, None, false)
}

/// With a workspace for all levels but so many.
pub(super) fn assembled_in(
    case: &RandomKernel,
    format: &Format,
    gathers: Option<(usize, Kind)>,
    reserves: bool,
) -> Result<Assembled, IterateError> {
    let (mut module, mut kernel, mut symbols) = kernel_of(case);
    kernel.reserves = reserves;
    let last = format.levels().iter().rposition(|level| !level.is_full());
    if let (Some((levels, kind)), Some(last), Some(order)) = (gathers, last, format.order()) {
        let first = format.levels().iter().position(|level| !level.is_full());
        let least = match kind {
            Kind::Dense | Kind::Sized(_) => first.unwrap_or(0),
            _ => 0,
        };
        let levels = levels.clamp(least, last);
        let outer: Vec<usize> = order[..levels].iter().map(|at| kernel.head[*at]).collect();
        let inside: Vec<usize> =
            kernel.order.iter().filter(|at| !outer.contains(at)).copied().collect();
        kernel.order = [outer, inside].concat();
        kernel.gathers = Some(Gathers::behind(levels, format, &kernel.head, kind));
    }
    let extents = case.head.iter().map(|at| kernel.iterators[*at].1.clone()).collect();
    let types = (Element::F64, Element::U32);
    let result = Operand::declare(&mut module, "R", (format, extents), types);
    symbols.resize(module.symbols.len(), 0);
    let structure = assemble(&mut module, "kernel", &kernel, &result)?;
    Ok(Assembled { module, result, structure, symbols })
}

fn call(
    module: &Module,
    name: &str,
    symbols: &[i64],
    mut outputs: Vec<Data>,
    case: &RandomKernel,
) -> Vec<Data> {
    let count = outputs.len();
    outputs.extend(inputs(case));
    let function = module.find_function(name).unwrap();
    // A buffer that is taken once is given once.
    interp::run(module, name, symbols, &mut outputs)
        .map_err(|error| format!("{error}\n{function:?}\n{module}"))
        .unwrap();
    outputs.truncate(count);
    outputs
}

/// The result, as a host makes it.
pub(super) fn result(all: &Assembled, case: &RandomKernel) -> Tensor {
    let Assembled { module, result, structure, symbols } = all;
    let mut symbols = symbols.clone();
    let size = |id: &BufferId, symbols: &[i64]| {
        module.buffers[id.0 as usize].size.eval_symbols(symbols).unwrap() as usize
    };
    let ints = |id: &BufferId, symbols: &[i64]| Data::Int(vec![-1; size(id, symbols)]);
    let (mut starts, mut ends) = (Vec::new(), None);
    if let Structure::Counted { starts: buffers, ends: last } = structure {
        ends = *last;
        if !buffers.is_empty() {
            let empty = buffers.iter().map(|id| ints(id, &symbols)).collect();
            let name = if ends.is_some() { "kernel_bound" } else { "kernel_count" };
            starts = call(module, name, &symbols, empty, case);
        }
        for ((_, symbol), list) in result.counts().zip(&starts) {
            symbols[symbol.0 as usize] = *list.as_int().unwrap().last().unwrap();
        }
    }
    let arrays = match structure {
        Structure::Counted { .. } => result.buffers(),
        Structure::Dense | Structure::Copied { .. } | Structure::Converted { .. } => {
            vec![result.values]
        }
    };
    let integers = arrays[..arrays.len() - 1].iter().map(|id| ints(id, &symbols));
    let values = Data::Float(vec![f64::NAN; size(&result.values, &symbols)]);
    let outputs = integers.chain([values]).chain(ends.iter().map(|id| ints(id, &symbols)));
    let outputs = outputs.chain(starts).collect();
    let mut outputs = call(module, "kernel", &symbols, outputs, case);
    if ends.is_some() {
        together(&mut outputs);
    }
    let mut outputs = outputs.into_iter();
    let mut next = || outputs.next().unwrap();
    let indices = |data: Data| {
        let all = data.as_int().unwrap().iter().map(|x| u32::try_from(*x).unwrap());
        Indices::U32(all.collect())
    };
    let levels = match structure {
        Structure::Copied { operand } => case.operands[*operand].tensor.levels().to_vec(),
        _ => {
            let level = |level: &Level| {
                let arrays = level.kind.arrays().iter().map(|_| indices(next()));
                LevelData::new(level.kind, arrays.collect())
            };
            result.format.levels().iter().map(level).collect()
        }
    };
    let values = Storage::from(next().as_float().unwrap().to_vec());
    let shape = case.head.iter().map(|at| case.extents[*at]).collect();
    Tensor::from_parts(shape, result.format.clone(), levels, values).unwrap()
}

/// Moves rows together, of positions, coordinates, values and the ends of rows.
fn together(arrays: &mut [Data]) {
    let ints = |data: &Data| data.as_int().unwrap().to_vec();
    let (mut positions, coordinates, ends) = (ints(&arrays[0]), ints(&arrays[1]), ints(&arrays[3]));
    let values = arrays[2].as_float().unwrap().to_vec();
    let size = values.len() / coordinates.len().max(1);
    let (mut columns, mut blocks) = (Vec::new(), Vec::new());
    for (row, end) in ends.iter().enumerate() {
        let length = positions[row + 1];
        let all = (end - length) as usize..*end as usize;
        positions[row + 1] += positions[row];
        if length > 0 {
            columns.extend_from_slice(&coordinates[all.clone()]);
            blocks.extend_from_slice(&values[all.start * size..all.end * size]);
        }
    }
    (arrays[0], arrays[1], arrays[2]) =
        (Data::Int(positions), Data::Int(columns), Data::Float(blocks));
}

/// All coordinates of a box.
fn elements(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |all, extent| {
        let next =
            all.iter().flat_map(|head| (0..*extent).map(move |at| [&head[..], &[at]].concat()));
        next.collect()
    })
}

/// Compares a result with what it should be.
pub(super) fn check(
    all: &Assembled,
    case: &RandomKernel,
    format: &Format,
) -> Result<(), TestCaseError> {
    let found = result(all, case);
    let mut values: BTreeMap<Vec<u64>, f64> = BTreeMap::new();
    let mut points: BTreeSet<Vec<i128>> = BTreeSet::new();
    let last = format.levels().iter().rposition(|level| !level.is_full());
    let kept = last.map_or(0, |last| last + 1);
    // The coordinates of the levels down to the last one that is not dense.
    let outer = |element: &[u64]| -> Vec<i128> {
        let value = |at: usize| i128::from(element[at]);
        format.map().levels()[..kept].iter().map(|expr| expr.value(&value)).collect()
    };
    each_point(case, &mut |element, value, stored| {
        let sum = values.entry(element.to_vec()).or_insert(case.semiring.zero());
        *sum = case.semiring.add(*sum, value);
        if stored {
            points.insert(outer(element));
        }
    });
    let copied = matches!(all.structure, Structure::Copied { .. });
    for element in elements(found.shape()) {
        let expected = values.get(&element).copied().unwrap_or(case.semiring.zero());
        let value = found.get(&element);
        let stored = kept == 0 || points.contains(&outer(&element));
        let right = match value {
            Some(Scalar::F64(value)) => value == expected && (stored || copied),
            _ => !stored && expected == case.semiring.zero(),
        };
        prop_assert!(right, "{:?} is {:?}, not {}\n{}", element, value, expected, all.module);
    }
    Ok(())
}

/// Whether subscripts are the iterators whose extents an operand has.
fn is_inside(case: &RandomKernel, operand: usize, subscripts: &[Sum]) -> bool {
    let own = case.operands[operand].iterators.iter();
    own.zip(subscripts).all(|(iterator, sum)| iterator.is_some_and(|at| *sum == it(at)))
}

/// Makes a case one product of a tensor with dense ones, where there is one whose subscripts are different iterators,
/// and gives its format.
fn with_mask(case: &mut RandomKernel) -> Option<Format> {
    let dense = |format: &Format| format.levels().iter().all(|level| level.is_full());
    let mask = (0..case.operands.len()).find_map(|at| {
        let mut factors = case.products.iter().flat_map(|product| &product.factors);
        let (_, subscripts) =
            factors.find(|(operand, own)| *operand == at && is_inside(case, at, own))?;
        let plain: Vec<usize> =
            case.operands[at].iterators.iter().copied().collect::<Option<_>>()?;
        let distinct: BTreeSet<usize> = plain.iter().copied().collect();
        let known = distinct.len() == plain.len() && !dense(&case.operands[at].format);
        known.then(|| (at, subscripts.clone(), plain))
    });
    let (at, subscripts, plain) = mask?;
    let mut product = case.products[0].clone();
    (product.defined, product.conditions) = (None, Vec::new());
    product.positions.clear();
    product.factors.retain(|(other, own)| {
        dense(&case.operands[*other].format) && is_inside(case, *other, own)
    });
    product.factors.push((at, subscripts));
    (case.products, case.head) = (vec![product], plain);
    Some(case.operands[at].format.clone())
}

/// A format for a result, by numbers.
fn format_of(case: &RandomKernel, kinds: &[usize], order: &[usize]) -> Format {
    let rank = case.head.len();
    let level = |kind: &usize| [Level::DENSE, Level::COMPRESSED, Level::BITMAP][*kind];
    let order = order.iter().copied().filter(|at| *at < rank).collect();
    Format::new(kinds[..rank].iter().map(level).collect(), order).unwrap()
}

/// Such that small results are on either side.
fn limits() -> impl Strategy<Value = Limits> {
    (0i64..40, 0i64..40, 0i64..60).prop_map(|(near, each, most)| Limits { near, each, most })
}

/// Dense workspaces, containers of all capacities, and sizes that choose.
fn kinds_of_workspaces() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Dense),
        Just(Kind::Growing),
        (1i64..40).prop_map(|capacity| Kind::List { capacity }),
        (1i64..40).prop_map(|capacity| Kind::Hash { capacity }),
        (1i64..5).prop_map(|rows| Kind::Bucket { rows }),
        limits().prop_map(Kind::Sized),
    ]
}

proptest! {
    #![proptest_config(super::config(4000))]

    #[test]
    fn results_have_the_points_of_products(
        case in cases(),
        kinds in prop::collection::vec(0usize..3, 3),
        order in Just(vec![0usize, 1, 2]).prop_shuffle(),
        masked in 0usize..3,
        gathers in prop::option::of((0usize..3, kinds_of_workspaces())),
        reserves in any::<bool>(),
    ) {
        let mut case = case;
        let mask = if masked == 0 { with_mask(&mut case) } else { None };
        let format = mask.clone().unwrap_or_else(|| format_of(&case, &kinds, &order));
        compare(&case, &format, (gathers, reserves), mask.is_some())?;
    }

    /// Rows in parts, of which only a bound is known before.
    #[test]
    fn rows_are_moved_together(
        case in cases(),
        order in Just(vec![0usize, 1, 2]).prop_shuffle(),
        kind in prop_oneof![Just(Kind::Dense), limits().prop_map(Kind::Sized)],
    ) {
        let format = format_of(&case, &[0, 1, 0], &order);
        compare(&case, &format, (Some((1, kind)), true), false)?;
    }
}

fn compare(
    case: &RandomKernel,
    format: &Format,
    (gathers, reserves): (Option<(usize, Kind)>, bool),
    masked: bool,
) -> Result<(), TestCaseError> {
    let mut all = match assembled_in(case, format, gathers, reserves) {
        Ok(all) => all,
        Err(IterateError::Cycle { .. } | IterateError::Level { .. }) => return Ok(()),
        Err(IterateError::Map { .. }) => return Ok(()),
        Err(IterateError::Workspace | IterateError::Cursors(_)) => return Ok(()),
        Err(error) => panic!("{error}"),
    };
    let copied = matches!(all.structure, Structure::Copied { .. });
    prop_assert!(copied || !masked, "{:?}", case);
    prop_assert_eq!(verify(&all.module), Ok(()), "{}", all.module);
    check(&all, case, format)?;
    lower(&mut all.module);
    prop_assert_eq!(verify(&all.module), Ok(()), "{}", all.module);
    check(&all, case, format)
}

/// What a product of operands, with formats by code, becomes.
fn shown(
    operands: &[(&[Sum], &str)],
    products: &[&[usize]],
    (head, code): (&[usize], &str),
    order: &[usize],
) -> String {
    let extents = vec![4, 5, 3, 2];
    let stored = operands.iter().map(|(subscripts, code)| {
        let format = dastac_formats::format::parse(code, &["i", "j"][..subscripts.len()]).unwrap();
        let iterators: Vec<usize> = subscripts.iter().map(|(terms, _)| terms[0].0).collect();
        let shape: Vec<u64> = iterators.iter().map(|at| extents[*at]).collect();
        let tensor = tensor(shape.clone(), &format, 2);
        let iterators = iterators.into_iter().map(Some).collect();
        Stored { shape, iterators, format, tensor }
    });
    let factor = |at: &usize| (*at, operands[*at].0.to_vec());
    let term = |product: &&[usize]| Term {
        number: 1.0,
        factors: product.iter().map(factor).collect(),
        ..Term::default()
    };
    let case = RandomKernel {
        operands: stored.collect(),
        products: products.iter().map(term).collect(),
        head: head.to_vec(),
        order: order.to_vec(),
        extents: extents.clone(),
        walking: Walking::default(),
        semiring: Semiring::default(),
    };
    let format = dastac_formats::format::parse(code, &["i", "j"][..head.len()]).unwrap();
    match assembled(&case, &format) {
        Ok(mut all) => {
            dastac_loops::passes::simplify(&mut all.module);
            check(&all, &case, &format).unwrap();
            all.module.functions.iter().map(ToString::to_string).collect()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn results_look_as_they_should() {
    let csr: (&[Sum], &str) = (&[it(0), it(1)], "csr");
    // The pattern of an operand.
    expect_test::expect![[r#"
        func kernel(out b7, in b1, in b2, in b3, in b4) {
          parallel pj = b1[0] to b1[p0] {
            b7[pj] = b3[pj] * b4[b2[pj]]
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, (&[it(1)], "D")], &[&[0, 1]], (&[0, 1], "csr"), &[0, 1, 2, 3]));
    // A union.
    expect_test::expect![[r#"
        func kernel_count(out b10, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel x = 0 to p0 + 1 {
            b10[x] = index(0)
          }
          parallel i = 0 to p0 {
            with b12 of 2 {
              b12[0] = index(0)
              coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b4[i] to b4[i + 1] at b5[pj_1] within {
                case pj, pj_1 {
                  b12[0] += index(1)
                }
                case pj {
                  b12[0] += index(1)
                }
                case pj_1 {
                  b12[0] += index(1)
                }
              }
              let n = b12[0] {
                b10[i + 1] = index(n)
              }
            }
          }
          for x = 0 to p0 {
            let n = b10[x] {
              b10[x + 1] += index(n)
            }
          }
        }
        func kernel(out b7, out b8, out b9, in b10, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel x = 0 to p0 + 1 {
            b7[x] = index(b10[x])
          }
          parallel i = 0 to p0 {
            with b12 of 2 {
              b12[0] = index(b10[i])
              with b11 of 1 {
                coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b4[i] to b4[i + 1] at b5[pj_1] within {
                  case pj, pj_1 {
                    b11[0] = b3[pj] + b6[pj_1]
                    let n = b12[0] {
                      b8[n] = index(j)
                      b9[n] = b11[0]
                      b12[0] += index(1)
                    }
                  }
                  case pj {
                    b11[0] = b3[pj]
                    let n = b12[0] {
                      b8[n] = index(j)
                      b9[n] = b11[0]
                      b12[0] += index(1)
                    }
                  }
                  case pj_1 {
                    b11[0] = b6[pj_1]
                    let n = b12[0] {
                      b8[n] = index(j)
                      b9[n] = b11[0]
                      b12[0] += index(1)
                    }
                  }
                }
              }
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, csr], &[&[0], &[1]], (&[0, 1], "csr"), &[0, 1, 2, 3]));
    // A product of matrices, by inner products; rows that have nothing are not stored.
    let (left, right): ((&[Sum], _), (&[Sum], _)) =
        ((&[it(0), it(2)], "csr"), (&[it(2), it(1)], "csc"));
    expect_test::expect![[r#"
        func kernel_count(out b12, out b13, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel x = 0 to max(p0, 0) + 1 {
            b12[x] = index(0)
          }
          parallel x = 0 to max(p0, 0) + 1 {
            b13[x] = index(0)
          }
          parallel i = 0 to p0 {
            with b15 of 3 {
              b15[0] = index(0)
              b15[1] = index(0)
              let n = b15[0] {
                let n_1 = b15[1] {
                  for j = 0 to p1 {
                    b15[2] = index(0)
                    coiter k = 0 to p2 over pk = b1[i] to b1[i + 1] at b2[pk] within, pk_1 = b4[j] to b4[j + 1] at b5[pk_1] within {
                      case pk, pk_1 {
                        b15[2] = index(1)
                      }
                    }
                    let n_2 = b15[2] {
                      if 1 <= n_2 {
                        b15[1] += index(1)
                      }
                    }
                  }
                  let n_2 = b15[1] {
                    if n_1 < n_2 {
                      b15[0] += index(1)
                    }
                  }
                }
              }
              let n = b15[0] {
                b12[i + 1] = index(n)
              }
              let n = b15[1] {
                b13[i + 1] = index(n)
              }
            }
          }
          for x = 0 to max(p0, 0) {
            let n = b12[x] {
              b12[x + 1] += index(n)
            }
          }
          for x = 0 to max(p0, 0) {
            let n = b13[x] {
              b13[x + 1] += index(n)
            }
          }
        }
        func kernel(out b7, out b8, out b9, out b10, out b11, in b12, in b13, in b1, in b2, in b3, in b4, in b5, in b6) {
          b7[0] = index(0)
          b7[1] = index(b12[max(p0, 0)])
          parallel x = 0 to p6 + 1 {
            b9[x] = index(0)
          }
          parallel i = 0 to p0 {
            with b15 of 3 {
              b15[0] = index(b12[i])
              b15[1] = index(b13[i])
              with b14 of 1 {
                let n = b15[0] {
                  let n_1 = b15[1] {
                    let n_2 = b15[1] {
                      for j = 0 to p1 {
                        b14[0] = 0.0
                        b15[2] = index(0)
                        coiter k = 0 to p2 over pk = b1[i] to b1[i + 1] at b2[pk] within, pk_1 = b4[j] to b4[j + 1] at b5[pk_1] within {
                          case pk, pk_1 {
                            b15[2] = index(1)
                            b14[0] += b3[pk] * b6[pk_1]
                          }
                        }
                        let n_3 = b15[2] {
                          if 1 <= n_3 {
                            let n_4 = b15[1] {
                              b10[n_4] = index(j)
                              b11[n_4] = b14[0]
                              b15[1] += index(1)
                            }
                          }
                        }
                      }
                      let n_3 = b15[1] {
                        if n_2 < n_3 {
                          b9[n + 1] = index(n_3 - n_2)
                        }
                      }
                    }
                    let n_2 = b15[1] {
                      if n_1 < n_2 {
                        b8[n] = index(i)
                        b15[0] += index(1)
                      }
                    }
                  }
                }
              }
            }
          }
          for x = 0 to p6 {
            let n = b9[x] {
              b9[x + 1] += index(n)
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[left, right], &[&[0, 1]], (&[0, 1], "dcsr"), &[0, 1, 2, 3]));
    // By rows it scatters.
    let right: (&[Sum], &str) = (&[it(2), it(1)], "csr");
    expect_test::expect![
        "the loops do not reach the result's elements in the order of its levels: it needs a \
        workspace"
    ]
    .assert_eq(&shown(&[left, right], &[&[0, 1]], (&[0, 1], "csr"), &[0, 2, 1, 3]));
    expect_test::expect![
        "level 0 of the result can only be copied from a tensor with the same pattern"
    ]
    .assert_eq(&shown(&[csr, csr], &[&[0], &[1]], (&[0, 1], "coo"), &[0, 1, 2, 3]));
}
