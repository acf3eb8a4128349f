//! Tests of pe-demo.
