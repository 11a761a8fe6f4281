//! Cost of managed fields of a 3 KB Pod, on one core.

use std::hint::black_box;

use anyhow::{Context, anyhow};
use pintle_codec::json;
use pintle_meta::Value;
use pintle_patch::fieldset::{Filter, Set};
use pintle_patch::managed::{Resets, SameShape, Write, apply, update};
use pintle_schema::find;

use crate::codec::{POD, micros};
use crate::figures::show;

pub(crate) fn measure() -> anyhow::Result<()> {
    let of = find("core/v1.Pod").context("there is no Pod")?;
    let mut pod = json::decode(of, POD.trim_end().as_bytes())?.value;
    for field in ["managedFields", "uid"] {
        pod.metadata_mut().context("a Pod has metadata")?.remove(field);
    }
    let resets = Resets::everywhere(Filter::Exclude(Set::of_fields(&[&["status"]])));
    let converter = SameShape { of: of.into(), api_versions: &["v1"] };
    let by = Write {
        of: of.into(),
        manager: "kubectl",
        subresource: "",
        api_version: "v1",
        now: "2026-01-02T03:04:05Z",
        resets: &resets,
        converter: &converter,
    };
    let write = |live: Option<&Value>, new: &Value| {
        let mut new = new.clone();
        update(&by, live, &mut new).map_err(|error| anyhow!(error)).map(|()| new)
    };
    let mut live = write(None, &pod)?;
    live.metadata_mut().context("a Pod has metadata")?.insert("uid", "u");
    // Read anew, so that nothing of it is the live one's.
    let mut text = Vec::new();
    json::encode(&live, &mut text);
    let mut changed = json::decode(of, &text)?.value;
    changed.metadata_mut().context("a Pod has metadata")?.insert("generateName", "changed-");
    show("pod_3k_manage_create", micros(&mut || drop(black_box(write(None, &pod)))), "us");
    // Another manager applies a label: one that exists, and one that does not.
    let config = |value: &str| {
        let text = format!(
            r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}","labels":{{"applied":"{value}"}}}}}}"#,
            live.name()
        );
        json::decode_untyped(text.as_bytes()).map(|decoded| decoded.value)
    };
    let applied = |live: &Value, config: &Value| {
        let by = Write { manager: "applier", ..by };
        let applied = apply(&by, live, config, true).map_err(|refusal| anyhow!(refusal))?;
        let mut new = applied.object.unwrap_or_else(|| live.clone());
        applied.managed.set(&mut new);
        anyhow::Ok(new)
    };
    let (first, second) = (config("1")?, config("2")?);
    let labelled = applied(&live, &first)?;
    show("pod_3k_apply_same", micros(&mut || drop(black_box(applied(&labelled, &first)))), "us");
    show("pod_3k_apply_change", micros(&mut || drop(black_box(applied(&labelled, &second)))), "us");
    show("pod_3k_manage_update", micros(&mut || drop(black_box(write(Some(&live), &changed)))), "us");
    Ok(())
}
