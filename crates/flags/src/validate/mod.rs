//! Checks.
use crate::{Error, Parsed};
pub(crate) fn validate(_p: &mut Parsed) -> Result<(), Error> {
    Ok(())
}
