//! The instruction set that benchmarks force.

use std::process::Command;

use pe_candle::testing::InstructionSet;
use pe_core::testing::Backend;
use pe_tests::isa;

use crate::again;

/// A forced set holds for the rest of the process, and can be forced once; an unknown one is an
/// error that lists the others.
#[test]
fn set_is_forced_for_the_process() {
    const NAME: &str = "isa::set_is_forced_for_the_process";
    if again::given().is_some() {
        let error = isa::force("mmx").unwrap_err().to_string();
        assert!(
            error.contains("\"mmx\"") && error.contains("portable"),
            "{error}"
        );
        isa::force("portable").unwrap();
        assert_eq!(format!("{:?}", Backend::best()), "Backend(Scalar)");
        let sets = InstructionSet::available();
        assert!(sets.into_iter().all(|(_, set)| !set.force()));
        for name in isa::available() {
            isa::force(name).unwrap_err();
        }
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    again::passes(command.args(["--exact", NAME]), "1");
}
