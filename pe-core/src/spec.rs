//! The parts of a specification.

/// Implements `Display` and `FromStr` by `name` and `ALL`.
macro_rules! impl_names {
    ($type:ident, $kind:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::error::Error;

            fn from_str(name: &str) -> crate::error::Result<Self> {
                let found = Self::ALL.into_iter().find(|value| value.name() == name);
                found.ok_or_else(|| crate::error::Error::UnknownName {
                    kind: $kind,
                    name: name.to_owned(),
                    known: Self::ALL.map(Self::name).join(", "),
                })
            }
        }
    };
}
pub(crate) use impl_names;

pub(crate) mod direction;
pub(crate) mod layout;
pub(crate) mod pair_layout;
pub(crate) mod recipe;
pub(crate) mod spacing;
