use super::*;
use expect_test::expect;

#[test]
fn names_and_sizes() {
    for element in Element::ALL {
        assert_eq!(Element::named(element.name()), Some(*element));
        assert_eq!(with_type!(*element, T => size_of::<T>()), element.bytes());
        assert_eq!(with_type!(*element, T => align_of::<T>()), element.part().bytes());
    }
    assert_eq!(Element::named("f8"), None);
}

#[test]
fn storage_is_aligned_and_zero() {
    for element in Element::ALL {
        for length in [0, 1, 7, 1000] {
            let mut storage = Storage::zeroed(*element, length).unwrap();
            assert_eq!((storage.len(), storage.element()), (length, *element));
            assert_eq!(storage.nonzeros(), 0);
            assert!(storage.view().bytes().as_ptr().addr().is_multiple_of(64));
            storage.view_mut().fill(|_| 1.0);
            assert_eq!(storage.to_f64(), vec![1.0; length * element.parts()]);
            assert_eq!(storage.nonzeros(), length as u64);
            assert_eq!(Storage::copy_of(storage.view()).unwrap(), storage);
            assert_eq!(storage.clone(), storage);
        }
    }
}

#[test]
fn too_much_is_an_error() {
    for length in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8 - 8] {
        assert!(Storage::zeroed(Element::F64, length).is_err());
    }
}

#[test]
fn storage_takes_over_vectors_and_fits() {
    let mut storage = Storage::from(vec![1.0f32, -2.5]);
    assert_eq!(storage.as_slice::<f32>(), Some(&[1.0, -2.5][..]));
    assert_eq!(storage.as_slice::<i32>(), None);
    storage.fit(1).unwrap();
    storage.fit(2).unwrap();
    assert_eq!(storage.to_string_for_test(), "f32 [1.0, -2.5]");
    storage.fit(1000).unwrap();
    assert_eq!((storage.len(), storage.nonzeros()), (1000, 0));
    assert_eq!(Storage::empty(Element::Bool), Storage::from(Vec::<bool>::new()));
}

impl Storage {
    fn to_string_for_test(&self) -> String {
        format!("{self:?}")
    }
}

#[test]
fn stored_numbers_wrap_and_round() {
    let stored = |element: Element, value: f64| element.round(value);
    assert_eq!(stored(Element::I32, 2_147_483_648.0), -2_147_483_648.0);
    assert_eq!(stored(Element::U32, -1.0), 4_294_967_295.0);
    assert_eq!(stored(Element::F32, 0.1), f64::from(0.1f32));
    assert_eq!(stored(Element::Bool, -3.0), 1.0);
    for element in Element::ALL.iter().filter(|element| element.is_integer()) {
        for value in [0i64, 1, -1, 127, 128, -129, 65_536, 1 << 31, -(1 << 40)] {
            assert_eq!(element.wrapped(value) as f64, stored(*element, value as f64), "{element}");
        }
    }
}

#[test]
fn complex_numbers_are_two_parts_in_memory() {
    let storage = Storage::of_numbers(Element::C64, &[1.0, -2.0, 0.1, 0.0]).unwrap();
    let numbers = [Complex::new(1.0f32, -2.0), Complex::new(0.1, 0.0)];
    assert_eq!(storage.as_slice::<Complex<f32>>(), Some(&numbers[..]));
    assert_eq!(storage.view().parts().as_slice::<f32>(), Some(&[1.0, -2.0, 0.1, 0.0][..]));
    let words: Vec<u64> = storage.words();
    let again: Vec<_> =
        words.iter().map(|word| Complex::<f32>::from_word((*word).into())).collect();
    assert_eq!(again, numbers);
    assert_eq!((storage.nonzeros(), storage.is(0, 1.0)), (2, false));
    let wide = Storage::from(vec![Complex::new(-0.5, f64::INFINITY)]);
    let words: Vec<u128> = wide.words();
    assert_eq!(Complex::<f64>::from_word(words[0]), Complex::new(-0.5, f64::INFINITY));
    assert_eq!(Complex::of_bytes(wide.view().bytes()), Complex::new(-0.5, f64::INFINITY));
}

fn f64s_of(numbers: &[f64]) -> Storage {
    Storage::from(numbers.to_vec())
}

#[test]
fn casts() {
    let message = |values: Storage, to| values.cast(to).unwrap_err().to_string();
    let f64s = Storage::from(vec![1.0, -2.0, 0.0]);
    assert_eq!(f64s.clone().cast(Element::I32).unwrap(), Storage::from(vec![1, -2, 0]));
    assert_eq!(f64s.cast(Element::Bool).unwrap(), Storage::from(vec![true, true, false]));
    let complex = f64s_of(&[2.0]).cast(Element::C64).unwrap();
    assert_eq!(complex, Storage::from(vec![Complex::new(2.0f32, 0.0)]));
    assert_eq!(complex.cast(Element::F64).unwrap(), f64s_of(&[2.0]));
    let all = [
        message(Storage::from(vec![1.0, 1.5]), Element::I64),
        message(Storage::from(vec![(1i64 << 53) + 1]), Element::F64),
        message(Storage::from(vec![i64::MAX]), Element::F64),
        message(Storage::from(vec![1i64 << 31]), Element::I32),
        message(Storage::from(vec![-1i64]), Element::U32),
        message(Storage::from(vec![f64::NAN]), Element::I32),
        message(Storage::from(vec![9.3e18]), Element::I64),
        message(Storage::from(vec![Complex::new(1.0, -2.5)]), Element::F64),
    ];
    expect![[r#"
        1.5 is no value of type i64
        9007199254740993 is no value of type f64
        9223372036854775807 is no value of type f64
        2147483648 is no value of type i32
        -1 is no value of type u32
        NaN is no value of type i32
        9.3e18 is no value of type i64
        1-2.5i is no value of type f64"#]]
    .assert_eq(&all.join("\n"));
}
