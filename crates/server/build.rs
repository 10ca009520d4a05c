//! Takes the built page, `web/dist/page`, into the binary, packed beforehand. Where none was built, a few words stand in
//! its place that say so.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "cargo speaks to a build script by variables, and listens to what it prints"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let variable = |name| std::env::var(name).map(PathBuf::from).map_err(io::Error::other);
    let own = variable("CARGO_MANIFEST_DIR")?;
    let (built, instead) = (own.join("../../web/dist"), own.join("assets/front.html"));
    let out = variable("OUT_DIR")?;
    // The folder around it, which is always there: a path that is not would make every build look new.
    println!("cargo:rerun-if-changed={}", built.display());
    println!("cargo:rerun-if-changed={}", instead.display());
    println!("cargo:rerun-if-changed=build.rs");
    let page = built.join("page");
    let mut files = BTreeMap::new();
    if page.join("index.html").is_file() {
        gather(&page, "", &mut files)?;
    } else {
        files.insert("/index.html".to_owned(), instead);
    }
    let mut table = String::from("&[\n");
    for (at, (path, file)) in files.iter().enumerate() {
        let bytes = fs::read(file)?;
        let packed = out.join(format!("page-{at}.gz"));
        let worth = pack(&bytes, &packed)?;
        let (file, packed) = (file.display().to_string(), packed.display().to_string());
        let packed = worth.then(|| format!("include_bytes!({packed:?}) as &[u8]"));
        let packed = packed.map_or_else(|| "None".to_owned(), |bytes| format!("Some({bytes})"));
        let (kind, mark, lasting) = (kind(path), mark(&bytes), path.starts_with("/assets/"));
        writeln!(
            table,
            "Piece {{ path: {path:?}, kind: {kind:?}, mark: \"{mark:016x}\", lasting: {lasting}, \
             plain: include_bytes!({file:?}), packed: {packed} }},"
        )
        .map_err(io::Error::other)?;
    }
    table.push(']');
    fs::write(out.join("page.rs"), table)
}

/// Every file beneath a folder, by the path at which it is asked for.
fn gather(folder: &Path, at: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let file = fs::canonicalize(entry?.path())?;
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::other("a file of the page has an odd name"))?;
        let path = format!("{at}/{name}");
        if file.is_dir() {
            gather(&file, &path, files)?;
        } else if !name.starts_with('.') {
            files.insert(path, file);
        }
    }
    Ok(())
}

/// Packs what gets smaller by it; whether it does.
fn pack(bytes: &[u8], into: &Path) -> io::Result<bool> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    let packed = packed.finish()?;
    let worth = packed.len() + 64 < bytes.len();
    if worth {
        fs::write(into, packed)?;
    }
    Ok(worth)
}

/// Differs when the content does; against accidents, not against anybody.
fn mark(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("webp") => "image/webp",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some(_) | None => "application/octet-stream",
    }
}
