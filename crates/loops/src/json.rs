//! Data with parts of the loop IR in it, as JSON.

use serde::de::DeserializeOwned;

/// Reads data that nests as deeply as a program's conditions and loops do, which is deeper than JSON of strangers
/// should: the stack grows with it.
///
/// # Errors
/// Bytes that are not JSON, or of something else.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(serde_stacker::Deserializer::new(&mut reader))?;
    reader.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use crate::Condition;

    #[test]
    fn nested_conditions_are_read() {
        let depth = 5_000;
        let text =
            "{\"Or\":[{\"And\":[".repeat(depth / 2) + "{\"And\":[]}" + &"]}]}".repeat(depth / 2);
        let read: Condition = super::from_slice(text.as_bytes()).unwrap();
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(again, text);
        assert!(super::from_slice::<Condition>(b"{\"And\":[]} 7").is_err());
    }
}
