//! Tests of pe-core.
