//! What register code means. Numbers are evaluated as those of stores are: floats in binary64, integers wrapping
//! around.

use super::cells::{Cells, UNDEFINED, WRONG, apply, binary, cast, compare};
use super::{Data, InterpError, Machine};
use crate::eval::EvalError;
use crate::ir::*;

impl Machine<'_> {
    fn read(&self, register: RegId) -> Result<&Cells, InterpError> {
        self.registers.get(register.0 as usize).and_then(Option::as_ref).ok_or(UNDEFINED)
    }

    fn hold(&mut self, register: RegId, cells: Cells) -> Result<(), InterpError> {
        *self.registers.get_mut(register.0 as usize).ok_or(UNDEFINED)? = Some(cells);
        Ok(())
    }

    fn copy(&mut self, to: RegId, from: RegId) -> Result<(), InterpError> {
        let cells = self.read(from)?.clone();
        self.hold(to, cells)
    }

    pub(super) fn register_stmt(&mut self, stmt: &RegisterStmt) -> Result<(), InterpError> {
        match stmt {
            RegisterStmt::Define(register, operation) => {
                let ty = *self.types.get(register.0 as usize).ok_or(UNDEFINED)?;
                let cells = self.operation(operation, ty)?;
                self.hold(*register, cells)
            }
            RegisterStmt::Integer(inner) => {
                let value = self.index(&inner.index)?;
                self.set(inner.var, value).map(drop)
            }
            RegisterStmt::Carry(inner) => self.carry(inner),
            RegisterStmt::Choose(inner) => self.choose(inner),
            RegisterStmt::Write(write) => self.write(write),
            RegisterStmt::Multiply(inner) => self.multiply(inner),
            RegisterStmt::Fetch(fetch) => self.fetch(fetch),
            RegisterStmt::Arrive(left) => self.arrive(*left),
            RegisterStmt::Prefetch(..) | RegisterStmt::Fence => Ok(()),
        }
    }

    fn carry(&mut self, inner: &Carry) -> Result<(), InterpError> {
        for carried in &inner.carried {
            self.copy(carried.current, carried.init)?;
        }
        self.range((inner.var, inner.step), (&inner.lower, &inner.upper), |machine| {
            machine.block(&inner.body)?;
            let next: Result<Vec<Cells>, _> =
                inner.carried.iter().map(|carried| machine.read(carried.next).cloned()).collect();
            for (carried, next) in inner.carried.iter().zip(next?) {
                machine.hold(carried.current, next)?;
            }
            Ok(())
        })?;
        inner.carried.iter().try_for_each(|carried| self.copy(carried.result, carried.current))
    }

    fn choose(&mut self, inner: &Choose) -> Result<(), InterpError> {
        let holds = match &inner.condition {
            Test::Condition(condition) => self.holds(condition)?,
            Test::Register(register) => *self.read(*register)?.truths()?.first().ok_or(WRONG)?,
        };
        self.block(if holds { &inner.then } else { &inner.otherwise })?;
        inner.results.iter().try_for_each(|chosen| {
            self.copy(chosen.result, if holds { chosen.then } else { chosen.otherwise })
        })
    }

    fn write(&mut self, write: &Write) -> Result<(), InterpError> {
        let first = self.index(&write.index)?;
        let cells = self.read(write.value)?.clone();
        let (slot, loops) = self.slot(write.buffer)?;
        let element = slot.buffer.element;
        for lane in 0..cells.len() {
            let at = slot.position(first.saturating_add(lane as i64))?;
            slot.touch(at, loops, true)?;
            match (&mut *slot.data, &cells) {
                (Data::Float(data), Cells::Float(cells)) => {
                    data[at] = element.round(cells[lane]);
                }
                (Data::Int(data), Cells::Int(cells)) => data[at] = element.wrapped(cells[lane]),
                (Data::Int(data), Cells::Float(cells)) => data[at] = i64::from(cells[lane] != 0.0),
                _ => return Err(WRONG),
            }
        }
        Ok(())
    }

    /// What one lane does for a product of matrices.
    fn multiply(&mut self, inner: &Multiply) -> Result<(), InterpError> {
        for number in 0..2 * inner.left.count * inner.right.count {
            let place =
                [number / 2 / inner.right.count, number / 2 % inner.right.count, number % 2];
            let [held, left, right] = inner.element(place.map(Index::Const));
            let (held, left, right) = (self.index(&held)?, self.index(&left)?, self.index(&right)?);
            let mut total = self.float_at(inner.held, held)?;
            for term in 0..inner.terms {
                let left = self.float_at(inner.left.buffer, left + term * inner.left.term)?;
                let right = self.float_at(inner.right.buffer, right + term * inner.right.term)?;
                total += left * right;
            }
            self.put(inner.held, held, total)?;
        }
        Ok(())
    }

    /// The copy is made when it is waited for; until then, nothing is where it will be.
    fn fetch(&mut self, fetch: &Fetch) -> Result<(), InterpError> {
        let (at, source) = (self.index(&fetch.at)?, self.index(&fetch.source)?);
        let value = self.float_at(fetch.from, source)?;
        self.put(fetch.buffer, at, f64::NAN)?;
        self.fetched.begin((fetch.buffer, at, value));
        Ok(())
    }

    fn arrive(&mut self, left: i64) -> Result<(), InterpError> {
        let there = self.fetched.arrive(left);
        there.into_iter().try_for_each(|(buffer, at, value)| self.put(buffer, at, value))
    }

    /// Sets an element of floats.
    fn put(&mut self, buffer: BufferId, place: i64, value: f64) -> Result<(), InterpError> {
        let (slot, loops) = self.slot(buffer)?;
        let at = slot.position(place)?;
        slot.touch(at, loops, true)?;
        let element = slot.buffer.element;
        let Data::Float(data) = &mut *slot.data else { return Err(WRONG) };
        data[at] = element.round(value);
        Ok(())
    }

    /// An element of floats.
    fn float_at(&mut self, buffer: BufferId, place: i64) -> Result<f64, InterpError> {
        let (slot, loops) = self.slot(buffer)?;
        let at = slot.position(place)?;
        slot.touch(at, loops, false)?;
        match &*slot.data {
            Data::Float(data) => Ok(data[at]),
            Data::Int(_) => Err(WRONG),
        }
    }

    fn operation(&mut self, operation: &Operation, ty: RegisterType) -> Result<Cells, InterpError> {
        Ok(match operation {
            Operation::Constant(value) => match ty.kind {
                LaneKind::Number(element) if element.is_integer() => {
                    Cells::Int(vec![*value as i64; ty.lanes])
                }
                _ => Cells::Float(vec![*value; ty.lanes]),
            },
            Operation::Convert(index) => {
                let value = self.index(index)?;
                match ty.kind {
                    LaneKind::Number(element) if element.is_integer() => Cells::Int(vec![value]),
                    _ => Cells::Float(vec![value as f64]),
                }
            }
            Operation::Lanes(first, by) => {
                let first = self.index(first)?;
                let lane = |lane: usize| by.checked_mul(lane as i64)?.checked_add(first);
                let all: Option<Vec<i64>> = (0..ty.lanes).map(lane).collect();
                Cells::Int(all.ok_or(EvalError::Overflow)?)
            }
            Operation::Load(load) => {
                let first = self.index(&load.index)?;
                let by = if load.reversed { -1 } else { 1 };
                let places = (0..ty.lanes as i64).map(|lane| first.saturating_add(by * lane));
                self.loaded(load.buffer, &places.collect::<Vec<_>>(), load.mask, ty)?
            }
            Operation::Gather(gather) => {
                let places = self.read(gather.places)?.integers()?.to_vec();
                self.loaded(gather.buffer, &places, gather.mask, ty)?
            }
            Operation::Broadcast(one) => {
                let one = self.read(*one)?;
                one.pick(&vec![0; ty.lanes], one)?
            }
            Operation::Binary(how, left, right) => {
                binary(*how, self.read(*left)?, self.read(*right)?, ty.kind)?
            }
            Operation::Fma(a, b, c) => {
                let (a, b, c) =
                    (self.read(*a)?.floats()?, self.read(*b)?.floats()?, self.read(*c)?.floats()?);
                let lanes = a.iter().zip(b).zip(c).map(|((a, b), c)| a.mul_add(*b, *c));
                Cells::Float(lanes.collect())
            }
            Operation::Truth(one) => match self.read(*one)? {
                Cells::Float(cells) => {
                    Cells::Float(cells.iter().map(|cell| f64::from(*cell != 0.0)).collect())
                }
                Cells::Int(cells) => {
                    Cells::Int(cells.iter().map(|cell| i64::from(*cell != 0)).collect())
                }
                Cells::Truth(_) => return Err(WRONG),
            },
            Operation::Apply(function, of) => {
                let of: Result<Vec<&Cells>, _> = of.iter().map(|one| self.read(*one)).collect();
                apply(*function, &of?)?
            }
            Operation::Cast(element, one) => {
                let integers = matches!(ty.kind, LaneKind::Number(to) if to.is_integer());
                cast(*element, self.read(*one)?, integers)?
            }
            Operation::Compare(how, left, right) => {
                let ty = self.types.get(left.0 as usize).ok_or(UNDEFINED)?.kind;
                compare(*how, ty, self.read(*left)?, self.read(*right)?)?
            }
            Operation::First(first) => {
                let count = self.index(&first.count)?;
                if first.from_bits && !(0..=ty.lanes as i64).contains(&count) {
                    return Err(InterpError::Invalid(
                        "a mask of bits has more lanes than there are",
                    ));
                }
                Cells::Truth((0..ty.lanes as i64).map(|lane| lane < count).collect())
            }
            Operation::Holds(condition) => Cells::Truth(vec![self.holds(condition)?]),
            // Memory here has no addresses; either answer is right.
            Operation::Aligned(aligned) => {
                aligned.indices.iter().try_for_each(|index| self.index(index).map(drop))?;
                Cells::Truth(vec![true])
            }
            Operation::Select(mask, then, otherwise) => {
                let (then, otherwise) = (self.read(*then)?, self.read(*otherwise)?);
                let mask = self.read(*mask)?.truths()?;
                let decides = |lane: usize| mask[if mask.len() == 1 { 0 } else { lane }];
                let lane = |lane: usize| if decides(lane) { lane } else { lane + ty.lanes };
                then.pick(&(0..ty.lanes).map(lane).collect::<Vec<_>>(), otherwise)?
            }
            Operation::Pack(of) => {
                let of: Result<Vec<&Cells>, _> = of.iter().map(|one| self.read(*one)).collect();
                Cells::joined(&of?)?
            }
            Operation::Shuffle(left, right, lanes) => {
                self.read(*left)?.pick(lanes, self.read(*right)?)?
            }
            Operation::Extract(one, lane) => {
                let one = self.read(*one)?;
                one.pick(&[*lane], one)?
            }
        })
    }

    /// Elements of a buffer, in a register of this type; 0 in lanes that are masked off.
    fn loaded(
        &mut self,
        buffer: BufferId,
        places: &[i64],
        mask: Option<RegId>,
        ty: RegisterType,
    ) -> Result<Cells, InterpError> {
        let mask = match mask {
            Some(mask) => self.read(mask)?.truths()?.to_vec(),
            None => vec![true; places.len()],
        };
        let float = matches!(ty.kind, LaneKind::Number(element) if !element.is_integer());
        let (slot, loops) = self.slot(buffer)?;
        let (mut floats, mut integers) = (Vec::new(), Vec::new());
        for (place, there) in places.iter().zip(mask) {
            let at = if there { Some(slot.position(*place)?) } else { None };
            if let Some(at) = at {
                slot.touch(at, loops, false)?;
            }
            match &*slot.data {
                Data::Float(_) if !float => return Err(WRONG),
                Data::Float(data) => floats.push(at.map_or(0.0, |at| data[at])),
                Data::Int(data) if float => floats.push(at.map_or(0.0, |at| data[at] as f64)),
                Data::Int(data) => integers.push(at.map_or(0, |at| data[at])),
            }
        }
        Ok(if float { Cells::Float(floats) } else { Cells::Int(integers) })
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::{Data, run_steps};
    use crate::ir::{RegisterStmt, Stmt};
    use crate::{parse, verify};

    const HEAD: &str = "module(N)\nbuffer A : f64[N]\nbuffer x : f64[N]\nbuffer crd : u32[N]\n";

    /// What a function over vectors of 4 lanes leaves in `A`, once it is checked and has survived its text form.
    fn run(body: &str, n: usize) -> Vec<f64> {
        let module = parse(&format!("{HEAD}func f(inout A, in x, in crd) {{ {body} }}")).unwrap();
        assert_eq!(verify(&module), Ok(()), "{module}");
        let again = parse(&module.to_string()).unwrap();
        assert_eq!(again, module.canonical(), "{module}\n{again}");
        let ramp = |by: i64| (0..n as i64).map(|at| (at * by) as f64).collect();
        let crd = Data::Int((0..n as i64).rev().collect());
        let mut data = [Data::Float(ramp(0)), Data::Float(ramp(1)), crd];
        run_steps(&module, "f", &[n as i64], &mut data, 10_000).unwrap();
        data[0].as_float().unwrap().to_vec()
    }

    #[test]
    fn fetched_elements_are_there_once_they_have_arrived() {
        // Two groups: one may be on its way when the other one is read.
        let body = "with S of 8 { for t = 0 to 4 {
            fetch S[t] = x[3 - t] arrive 1 fetch S[t + 4] = x[t + 4] arrive 1
            A[t] = S[t] A[t + 4] = S[t + 4] arrive 0 A[t + 8] = S[t + 4] } }";
        let head = format!("{HEAD}buffer S : f64[0]\nbuffer R : f32[0]\n");
        let text = |body: &str| format!("{head}func f(inout A, in x, in crd) {{ {body} }}");
        let module = parse(&text(body)).unwrap();
        assert_eq!(verify(&module), Ok(()), "{module}");
        assert_eq!(parse(&module.to_string()).unwrap(), module.canonical());
        let ramp = Data::Float((0..12).map(f64::from).collect());
        let mut data = [ramp.clone(), ramp, Data::Int(vec![0; 12])];
        run_steps(&module, "f", &[12], &mut data, 1_000).unwrap();
        let found = data[0].as_float().unwrap();
        assert_eq!(found[..4], [3.0, 2.0, 1.0, 0.0]);
        assert!(found[4..8].iter().all(|value| value.is_nan()));
        assert_eq!(found[8..], [4.0, 5.0, 6.0, 7.0]);
        for wrong in [
            "with R of 8 { fetch R[0] = x[0] arrive 0 }",
            "with S of 8 { fetch S[0] = crd[0] arrive 0 }",
        ] {
            let errors = verify(&parse(&text(wrong)).unwrap()).unwrap_err();
            assert!(errors.iter().any(|error| error.to_string().contains("fetched")), "{errors:?}");
        }
    }

    #[test]
    fn lanes_multiply_a_fragment() {
        // An 8 x 4 matrix in rows, times a 4 x 8 matrix in rows behind it; both count up.
        let body =
            "for t = 0 to 32 { multiply A[t of 32] += x[0] 1 by 4, 1 * x[32] 1 by 1, 8 in 4 }";
        let found = run(body, 64);
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let expected: usize = (0..4).map(|l| (4 * row + l) * (32 + 8 * l + column)).sum();
            let lane = 4 * row + column / 2;
            assert_eq!(
                found[32 * (column % 2) + lane],
                expected as f64,
                "row {row}, column {column}"
            );
        }
        // The same as loops.
        let module = parse(&format!("{HEAD}func f(inout A, in x) {{ {body} }}")).unwrap();
        let mut loops = module.clone();
        let Stmt::For(inner) = &mut loops.functions[0].body[0] else { unreachable!() };
        let Stmt::Register(RegisterStmt::Multiply(multiply)) = &inner.body[0] else {
            unreachable!()
        };
        let multiply = multiply.clone();
        let vars = ["r", "c", "e", "l"].map(|name| loops.functions[0].fresh_var(name));
        let Stmt::For(inner) = &mut loops.functions[0].body[0] else { unreachable!() };
        inner.body = vec![multiply.loops(vars)];
        assert_eq!(verify(&loops), Ok(()));
        let data = |by: usize| Data::Float((0..64).map(|at| (at * by) as f64).collect());
        let mut data = [data(0), data(1)];
        run_steps(&loops, "f", &[64], &mut data, 100_000).unwrap();
        assert_eq!(data[0].as_float().unwrap(), found);
        // Lanes that make no warps, and factors of other types.
        for wrong in [
            body.replace("of 32", "of 16"),
            body.replace("in 4", "in 3"),
            body.replace("x[0]", "crd[0]"),
        ] {
            let module =
                parse(&format!("{HEAD}func f(inout A, in x, in crd) {{ {wrong} }}")).unwrap();
            let errors = verify(&module).unwrap_err();
            assert!(
                errors.iter().any(|error| error.to_string().contains("product of matrices")),
                "{errors:?}"
            );
        }
    }

    #[test]
    fn a_sum_with_a_masked_rest() {
        let sum = "
            $0 : f64[4] = constant 0.0
            integer whole = N - N % 4
            carry k = 0 to whole step 4 with $1 : f64[4] = $0 {
              $2 : f64[4] = load x[k]
              $3 : f64[4] = fma $2, $2, $1
            } next $3 gives $4
            integer rest = N - whole
            choose if rest != 0 {
              $5 : truth[4] = first_bits rest
              $6 : f64[4] = load x[whole] where $5
              $7 : f64[4] = fma $6, $6, $4
              $8 : f64[4] = select $5, $7, $4
            } else {
            } gives $9 : f64[4] = $8 or $4
            $10 : f64[2] = shuffle $9, $9 [0, 1]
            $11 : f64[2] = shuffle $9, $9 [2, 3]
            $12 : f64[2] = add $10, $11
            $13 : f64 = extract $12[0]
            $14 : f64 = extract $12[1]
            $15 : f64 = add $13, $14
            write A[0] = $15";
        for n in [1, 4, 7, 12] {
            let squares: usize = (0..n).map(|x| x * x).sum();
            assert_eq!(run(sum, n)[0], squares as f64);
        }
    }

    #[test]
    fn lanes_move() {
        let all = "
            prefetch x[N + 100]
            $0 : truth = holds N > 3 and N < 100
            $1 : truth = aligned A[0, 4] to 64
            $2 : truth = and $0, $1
            choose if $2 {
              $3 : f64[4] = load x[3] down
              write A[0] = $3 streamed 32
            } else {
            }
            $4 : integer[4] = load crd[0]
            $5 : integer[4] = lanes N - 1 by 0
            $6 : integer[4] = sub $5, $4
            $7 : integer[4] = lanes 0 by 1
            $8 : integer[4] = lanes 2 by 0
            $9 : truth[4] = compare $7 < $8
            $10 : f64[4] = gather x[$6] where $9
            $11 : f64 = convert N
            $12 : f64[4] = broadcast $11
            $13 : f64[4] = max $10, $12
            $14 : f64[4] = select $9, $10, $13
            $15 : f64[4] = truth $14
            $16 : f64[4] = add $14, $15
            write A[4] = $16";
        assert_eq!(run(all, 8), [3.0, 2.0, 1.0, 0.0, 0.0, 2.0, 9.0, 9.0]);
    }

    #[test]
    fn violations() {
        let of = |body: &str| {
            let text = format!("{HEAD}func f(inout A, in x, in crd) {{ {body} }}");
            let errors = verify(&parse(&text).unwrap()).unwrap_err();
            errors.iter().map(|error| format!("{error}\n")).collect::<String>()
        };
        let all = [
            of("write A[0] = $0"),
            of("$0 : f64 = constant 1.0 $0 : f64 = constant 1.0"),
            of("$0 : f64 = constant 1.0 $1 : f64[4] = add $0, $0"),
            of("$0 : integer[4] = load x[0]"),
            of("$0 : f64[4] = constant 0.0 carry i = 0 to N with $1 : f64[4] = $0 { \
                $2 : f64 = extract $1[0] } next $2 gives $3"),
            of("choose if N > 0 { $0 : f64 = constant 1.0 } else { } gives $1 : f64 = $0 or $0"),
            of("$0 : f64[4] = constant 0.0 $1 : f64 = extract $0[4]"),
        ];
        expect_test::expect![[r#"
            function `f`: `write A[0] = $0`: register $0 is not defined here
            function `f`: `$0 : f64 = constant 1.0`: register $0 is defined twice
            function `f`: `$1 : f64[4] = add $0, $0`: register $1 is not of the type that its place asks for
            function `f`: `$0 : integer[4] = load x[0]`: register $0 is not of the type that its place asks for
            function `f`: `carry i = 0 to N with $1 : f64[4] = $0`: register $2 is not of the type that its place asks for
            function `f`: `choose if N > 0`: register $0 is not defined here
            function `f`: `$1 : f64 = extract $0[4]`: register $1 is not of the type that its place asks for
        "#]].assert_eq(&all.concat());
    }
}
