//! Formats as text, in the notation of programs.

use dastac_formats::Format;
use dastac_formats::format::{default_names, parse};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// No file has tensors of a higher rank: their coordinates would not fit 128 bits, which storage demands.
const MAX_RANK: usize = 128;

/// A format with all of its levels spelled out.
#[derive(Serialize, Deserialize)]
struct Spelled {
    rank: usize,
    levels: String,
}

pub(super) fn serialize<S: Serializer>(format: &Format, to: S) -> Result<S::Ok, S::Error> {
    let rank = format.rank();
    Spelled { rank, levels: format.spelled(&default_names(rank)) }.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Format, D::Error> {
    let Spelled { rank, levels } = Spelled::deserialize(from)?;
    if rank > MAX_RANK {
        return Err(D::Error::custom(format!("a tensor of rank {rank}")));
    }
    parse(&levels, &default_names(rank))
        .map_err(|error| D::Error::custom(format!("`{levels}`: {error}")))
}

/// Formats that need not be there.
pub(super) mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Wrapped(#[serde(with = "super")] Format);

    pub(in super::super) fn serialize<S: Serializer>(
        format: &Option<Format>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        format.clone().map(Wrapped).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Format>, D::Error> {
        Ok(Option::<Wrapped>::deserialize(from)?.map(|wrapped| wrapped.0))
    }
}
