//! Validation as a walk over an object and, on an update, over the stored object beside it.
//!
//! A [`Cursor`] is one field: its path, its new value and its old one. Going down moves all three, so a field is named once
//! and the path of an error cannot differ from the field that was looked at. Rules are functions over cursors; they read top to
//! bottom in the reference's order, since clients see the order of the causes. Nothing is allocated before an error is
//! reported, and values are never copied.
//!
//! ```text
//! fn validate(widget: &Cursor<'_, '_>, options: &Options) {
//!     let spec = widget.field("spec");
//!     spec.field("type").required_one_of(&["ClusterIP", "NodePort"]);    // spec.type: Required value
//!     for port in spec.field("ports").items() {
//!         port.field("name").text_format(dns1123_label);                 // spec.ports[0].name: Invalid value: ...
//!         port.field("port").integer_format(port_number);
//!     }
//!     if widget.is_update() {
//!         spec.field("nodeName").immutable("string");                    // spec.nodeName: Invalid value: ...
//!     }
//!     let hosts = spec.field("hosts");
//!     if hosts.changed() || options.strict_hosts {                       // ratcheting: what was stored may stay
//!         hosts.each(|host| host.text_format(dns1123_subdomain));
//!     }
//! }
//! ```
//!
//! - **Templates.** A rule never starts from the root: `pod::spec(&template.field("spec"), options)` reports below
//!   `spec.template.spec` for a Deployment and below `spec` for a Pod.
//! - **Lists.** [`Cursor::items`] pairs items with old ones by index; [`Cursor::items_by`] by a merge key, such as the name of a
//!   container. [`Cursor::entries`] goes over a map. All of them end early once [`Errors`] is full.
//! - **Options.** Conditions that depend on feature gates or on what the old object already uses are fields of a struct of the
//!   kind, made once per request from `Settings::features` and the root cursor, and handed down by reference.
//! - **Names of the reference.** Where an error names a field otherwise than JSON does, [`Cursor::at_as`] says both names.
//! - **Declared rules.** Kinds that the reference validates by markers on their types use [`declarative`].
//!
//! [`checks`] has the checks that many kinds share, [`Seen`] finds repetitions in lists; formats of text come from `pintle_meta::validation`.

mod checks;
mod conditions;
mod cursor;
pub(crate) mod declarative;
mod empties;
mod errors;
#[cfg(test)]
mod origins;
mod seen;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use self::cursor::Cursor;
pub(crate) use self::empties::Empties;
pub(crate) use self::errors::Errors;
pub(crate) use self::seen::Seen;

#[cfg(test)]
mod tests;
