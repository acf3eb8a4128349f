//! The parts of a specification.

/// Implements `Display` and `FromStr` by `name` and `ALL`. Other crates name `pe_core::Error`.
#[doc(hidden)]
#[macro_export]
#[allow(clippy::crate_in_macro_def)] // `$crate::Error` would be an import of lib.rs, above this room
macro_rules! impl_names {
    ($type:ident, $kind:literal) => {
        impl_names!($type, $kind, crate::error::Error);
    };
    ($type:ident, $kind:literal, $($error:ident)::+) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $($error)::+;

            fn from_str(name: &str) -> std::result::Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|value| value.name() == name);
                found.ok_or_else(|| $($error)::+::UnknownName {
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
