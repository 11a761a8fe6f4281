//! Cost of decoding and encoding an object: a 3 KB Pod and a 100 KB ConfigMap, on one core.

use std::hint::black_box;

use anyhow::Context;
use bytes::Bytes;
use pintle_codec::{json, protobuf};
use pintle_meta::Value;
use pintle_registry::Stored;
use pintle_resources::builtin::Builtin;
use pintle_schema::{Resources, Type, find};

use crate::figures::show;

pub(crate) const POD: &str = include_str!("../data/pod.json");

pub(crate) fn measure() -> anyhow::Result<()> {
    object("pod_3k", find("core/v1.Pod").context("there is no Pod")?, POD.trim_end().as_bytes())?;
    object("configmap_100k", find("core/v1.ConfigMap").context("there is no ConfigMap")?, &config_map())
}

/// A hundred files of settings.
fn config_map() -> Vec<u8> {
    let line = "setting.number.seven = \\\"a value that is <quoted>\\\" # and a remark\\n";
    let file = line.repeat(1000 / line.len());
    let files: Vec<String> =
        (0..100).map(|file_number| format!("\"file-{file_number:03}.conf\":\"{file}\"")).collect();
    format!(
        "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"settings\",\"namespace\":\"shop\"}},\"data\":{{{}}}}}",
        files.join(",")
    )
    .into_bytes()
}

fn object(name: &str, of: &'static Type, text: &[u8]) -> anyhow::Result<()> {
    let decoded = json::decode(of, text)?.value;
    let mut stored = Vec::new();
    protobuf::encode(of, &decoded, &mut stored)?;
    let time = |what: &str, run: &mut dyn FnMut()| show(&format!("{name}_{what}"), micros(run), "us");
    time("json_decode", &mut || drop(black_box(json::decode(of, text))));
    time("protobuf_decode", &mut || drop(black_box(protobuf::decode(of, &stored))));
    time("default", &mut || {
        let mut value = decoded.clone();
        pintle_resources::defaults::apply(of, &mut value, &Default::default());
        black_box(&value);
    });
    let mut out = Vec::with_capacity(2 * text.len());
    time("json_encode", &mut || {
        out.clear();
        json::encode(&decoded, &mut out);
    });
    time("protobuf_encode", &mut || {
        out.clear();
        let _ = protobuf::encode(of, &decoded, &mut out);
    });
    time("json_default_protobuf", &mut || {
        out.clear();
        let _ = create(of, text, &mut out);
    });
    let builtin = Builtin::new(of, &Resources::builtin()?);
    let normal = normal(&builtin, of, text)?;
    time("is_normal", &mut || {
        black_box(builtin.is_normal(&normal));
    });
    transcoding(name, of, &stored)
}

/// The bytes that this server would store of an object.
pub(crate) fn normal(builtin: &Builtin, of: &'static Type, text: &[u8]) -> anyhow::Result<Bytes> {
    let mut object = json::decode(of, text)?.value;
    pintle_resources::defaults::apply(of, &mut object, &Default::default());
    builtin.encode(&object).map_err(anyhow::Error::msg)
}

/// The work of a create on its body before it is stored.
fn create(of: &'static Type, text: &[u8], out: &mut Vec<u8>) -> anyhow::Result<Value> {
    let mut value = json::decode(of, text)?.value;
    pintle_resources::defaults::apply(of, &mut value, &Default::default());
    protobuf::encode(of, &value, out)?;
    Ok(value)
}

/// Stored bytes to JSON without a tree.
fn transcoding(name: &str, of: &'static Type, stored: &[u8]) -> anyhow::Result<()> {
    let mut out = Vec::new();
    let mut transcoder = protobuf::transcode::Transcoder::default();
    let options = protobuf::transcode::Options::default();
    transcoder.to_json(of, stored, &options, &mut out)?;
    let written = out.len();
    let took = micros(&mut || {
        out.clear();
        let _ = transcoder.to_json(of, stored, &options, &mut out);
    });
    show(&format!("{name}_transcode"), took, "us");
    show(&format!("{name}_transcode_read"), stored.len() as f64 / took, "MB/s");
    show(&format!("{name}_transcode_written"), written as f64 / took, "MB/s");
    Ok(())
}

/// CPU time per run: of many short rounds the fastest, since what else the machine does only adds to it.
pub(crate) fn micros(run: &mut dyn FnMut()) -> f64 {
    let rounds = (0..40).map(|_| {
        let start = cpu();
        let mut runs = 0u32;
        while cpu() - start < 0.005 {
            (0..16).for_each(|_| run());
            runs += 16;
        }
        (cpu() - start) * 1e6 / f64::from(runs)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

/// Seconds that this thread has run.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
