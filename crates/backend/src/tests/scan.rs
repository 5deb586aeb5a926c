//! Loops over marked places.

use super::*;
use dastac_loops::interp::{self, Data};

/// Writes the marked places of a range one behind the other, with what a scan inside of another one finds.
const TEXT: &str = "module(FROM, TO, N)
buffer places : i64[2 * N + 1]
buffer sums : f64[N]
buffer marks : TYPE[N]
buffer inner : u8[130]
func f(inout places, inout sums, inout marks) {
  with inner of 130 zero {
    scan k in marks[LOWER .. UPPER] {
      places[0] += index(1)
      let at = places[0] { places[at] = index(k) }
      for j = max(k - 2, 0) to min(k + 1, 130) { inner[j] = index(1) }
      scan l in inner[64 .. 128] { sums[k] += index(l) }
      scan l in inner[0 .. min(k, 130)] { sums[k] += index(l + 1) / 2.0 }
    }
    places[2 * N] = sum(j = 0 to 130) inner[j]
  }
}";

/// The interpreter's result for these bounds, which code has too.
fn check(bounds: [&str; 2], [from, to]: [i64; 2], element: &str) {
    let text = TEXT.replace("LOWER", bounds[0]).replace("UPPER", bounds[1]);
    let module = parse(&text.replace("TYPE", element)).unwrap();
    assert_eq!(verify(&module), Ok(()));
    let n = 260usize;
    let symbols = [from, to, n as i64];
    for checked in [false, true] {
        let options = Options { checked, ..Options::default() };
        let jit = load(&compile(&module, &options).unwrap());
        for every in [1, 2, 3, 63, 64, 300] {
            let marked = |at: usize| u8::from(at.is_multiple_of(every) || at == 77);
            let mut marks: Vec<u8> = (0..n).map(marked).collect();
            let mut expected = [
                Data::Int(vec![0; 2 * n + 1]),
                Data::Float(vec![0.0; n]),
                Data::Int(marks.iter().map(|mark| i64::from(*mark)).collect()),
            ];
            interp::run(&module, "f", &symbols, &mut expected).unwrap();
            let (mut places, mut sums) = (vec![0i64; 2 * n + 1], vec![0.0; n]);
            let mut truths: Vec<bool> = marks.iter().map(|mark| *mark != 0).collect();
            let buffer = match element {
                "bool" => Argument::write(&mut truths),
                _ => Argument::write(&mut marks),
            };
            let buffers = &mut [Argument::write(&mut places), Argument::write(&mut sums), buffer];
            jit.call("f", &symbols, buffers).unwrap();
            let left: Vec<i64> = match element {
                "bool" => truths.iter().map(|mark| i64::from(*mark)).collect(),
                _ => marks.iter().map(|mark| i64::from(*mark)).collect(),
            };
            let found = [Data::Int(places), Data::Float(sums), Data::Int(left)];
            assert_eq!(found, expected, "{bounds:?} {from} {to} {every} {checked}");
        }
    }
}

#[test]
fn ranges_of_any_length() {
    for length in [0, 1, 63, 64, 65, 130, 192] {
        for from in [0, 5, 68] {
            check(["FROM", "TO"], [from, from + length], "u8");
        }
    }
    check(["FROM", "TO"], [9, 3], "bool");
    check(["FROM", "FROM + 64"], [3, 0], "bool");
    check(["FROM", "FROM + 64 * TO"], [67, 3], "u8");
    check(["0", "130"], [0, 0], "u8");
}

#[test]
fn nothing_is_done_element_by_element() {
    let text = "module(B)\nbuffer y : f64[64]\nbuffer marks : u8[64]\n\
                func f(inout y, inout marks) { scan k in marks[64 * B .. 64 * B + 64] { y[k] += 1.0 } }";
    let module = parse(text).unwrap();
    for (name, instruction) in
        [("znver3", "vpmovmskb"), ("x86-64", "pmovmskb"), ("skylake-avx512", "k0")]
    {
        let options = Options { cpu: CpuTarget::named(name).unwrap(), ..Options::default() };
        let assembly = compile(&module, &options).unwrap().text("asm");
        assert!(assembly.contains(instruction), "{assembly}");
        let lines =
            assembly.lines().filter(|line| line.starts_with('\t') && !line.starts_with("\t."));
        assert!(lines.count() < 60, "{assembly}");
    }
}
