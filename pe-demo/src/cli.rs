//! The command line as clap reads it: a file for each command, and one for the values of options.
//!
//! Rules that need more than one option are the commands' own.

mod encode;
mod export;
mod files;
mod help;
mod mistake;
pub(crate) mod needs;
pub mod numbers;
mod parse;
mod plot;
mod program;
mod shell;
mod train;
mod values;

pub(crate) use encode::{DEFAULT_TABLE, EncodeArgs, SAME};
pub(crate) use export::ExportArgs;
pub(crate) use export::rotary::{RotaryArgs, TableArg, UnknownKeysArg};
pub(crate) use files::convert::ConvertArgs;
pub(crate) use files::diagnose::DiagnoseArgs;
pub(crate) use files::resize::ResizeArgs;
pub(crate) use help::command;
pub(crate) use numbers::Scaling;
pub(crate) use parse::parse;
pub(crate) use plot::{DataArg, FormatArg, PlotArgs, ReportArgs, ThemeArg};
#[cfg(test)]
pub(crate) use program::Cli;
pub(crate) use program::{Command, VerbosityArgs};
pub(crate) use train::TrainArgs;
