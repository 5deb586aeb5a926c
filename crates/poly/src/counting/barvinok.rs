//! The first counter: Barvinok's algorithm, in this process.
//!
//! Invariants: Barvinok is not thread-safe, so every call holds one lock; it crashes on an isl error inside it, so it
//! is called without a limit on steps, and only on what was found finite. A process of its own ([`super::worker`])
//! makes both harmless.

use super::question::{Answer, Asked, Question};
use crate::{Context, PwQPolynomial, Result, Set};
use std::sync::{Mutex, PoisonError};

static LOCK: Mutex<()> = Mutex::new(());

pub(super) fn count(context: &Context, question: &Question) -> Result<Answer> {
    let library = context.library().barvinok()?;
    let text = &question.text;
    // The lock guards no data, so a panic of another thread under it left nothing half done.
    let lock = || LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match question.asked {
        Asked::Points => {
            let set = Set::parse(context, text)?;
            let _guard = lock();
            context.unlimited(|| {
                context.call("isl_set_card", |_| {
                    // SAFETY: `set` is live; the function takes the reference.
                    unsafe { (library.isl_set_card)(set.0.take()) }
                })
            })
        }
        Asked::Sum => {
            let function = PwQPolynomial::parse(context, text)?;
            let _guard = lock();
            context.unlimited(|| {
                context.call("isl_pw_qpolynomial_sum", |_| {
                    // SAFETY: `function` is live; the function takes the reference.
                    unsafe { (library.isl_pw_qpolynomial_sum)(function.0.take()) }
                })
            })
        }
    };
    question.answer(&PwQPolynomial(found?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_under_the_lock_does_not_end_counting() {
        let thread = std::thread::spawn(|| {
            let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            panic!("expected");
        });
        assert!(thread.join().is_err());
        let context = Context::new().unwrap();
        let set = Set::parse(&context, "{ [i] : 0 <= i < 5 }").unwrap();
        let question = Question::of_set(&set).unwrap();
        let answer = count(&context, &question).unwrap();
        assert_eq!(answer.0[0].value[0].coefficient, 5.into());
    }
}
