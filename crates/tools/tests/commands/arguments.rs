//! How the arguments of calls are read.

use std::path::Path;

use artel_tools::Request;
use artel_tools::catalog::{self, Invalid};
use serde_json::{Value, json};

fn read(name: &str, arguments: Value) -> Result<Request, Invalid> {
    read_in(name, arguments, Some(Path::new("/home/ada/shop")))
}

fn read_in(name: &str, arguments: Value, workspace: Option<&Path>) -> Result<Request, Invalid> {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    catalog::read(name, &arguments, workspace)
}

fn path_of(path: &str) -> Result<String, Invalid> {
    let Request::ReadFile(read) = read("tool_read_file", json!({"path": path}))? else {
        panic!("another tool")
    };
    Ok(read.path)
}

/// TL-1.1, TL-6.1: a path that leads out of the workspace by its letters reaches no client.
#[test]
fn paths_stay_inside_by_their_letters() {
    for path in
        ["src/main.rs", "./a", "a/../b", "a/b/../../c", "..a", "a..", "a/...", " x ", ".", "ä/ö"]
    {
        assert_eq!(path_of(path).as_deref(), Ok(path));
    }
    for path in [
        "..",
        "../x",
        "a/../../b",
        "a/b/../../../c",
        "/etc/passwd",
        "/",
        "//etc",
        "/home/ada/shop-evil/x",
        "/home/ada/shop/../x",
        "/home/ada",
        "./../x",
        "/home/ada/shop/a/../../x",
    ] {
        assert_eq!(path_of(path), Err(Invalid::Outside), "{path}");
    }
    assert_eq!(path_of("/home/ada/shop/src/a").as_deref(), Ok("src/a"));
    assert_eq!(path_of("/home/ada/shop/").as_deref(), Ok("."));
    assert_eq!(
        read_in("tool_read_file", json!({"path": "/home/ada/shop/x"}), None),
        Err(Invalid::Outside)
    );
    assert_eq!(Invalid::Outside.to_string(), "Path is outside workspace bounds");
    for path in ["~/x", "~root", "a\0b", "", &"x".repeat(256), &"x/".repeat(2049)] {
        assert!(matches!(path_of(path), Err(Invalid::Arguments(_))), "{path:?}");
    }
}

/// TL-1.1, TL-5.1: commands are one program and its arguments, within bounds.
#[test]
fn commands_are_bounded() {
    let Ok(Request::ExecuteCommand(command)) =
        read("tool_execute_command", json!({"command": "ls"}))
    else {
        panic!("a plain command is read");
    };
    assert_eq!((command.timeout, command.network, command.args.len()), (30, false, 0));
    let long = "x".repeat(128 * 1024);
    for arguments in [
        json!({}),
        json!({"command": ""}),
        json!({"command": "  "}),
        json!({"command": "ls\nrm"}),
        json!({"command": "ls\0"}),
        json!({"command": "x".repeat(4097)}),
        json!({"command": "ls", "args": ["a\0b"]}),
        json!({"command": "ls", "args": "-la"}),
        json!({"command": "ls", "args": [1]}),
        json!({"command": "ls", "args": vec!["x"; 1001]}),
        json!({"command": "ls", "args": [long]}),
        json!({"command": "ls", "timeout": 0}),
        json!({"command": "ls", "timeout": 301}),
        json!({"command": "ls", "timeout": -1}),
        json!({"command": "ls", "timeout": 1.5}),
        json!({"command": "ls", "network": "no"}),
        json!({"command": "ls", "cwd": "/"}),
    ] {
        let refused = read("tool_execute_command", arguments);
        assert!(matches!(refused, Err(Invalid::Arguments(_))), "{refused:?}");
    }
}

/// TL-1.1: what is too large goes no further.
#[test]
fn sizes_are_limited() {
    for (name, arguments) in [
        ("tool_read_file", json!({"path": "x", "limit": 1024 * 1024 + 1})),
        ("tool_read_file", json!({"path": "x", "limit": 0})),
        ("tool_read_file", json!({"path": "x", "offset": -1})),
        ("tool_search_files", json!({"pattern": "x".repeat(4097)})),
        ("tool_search_files", json!({"pattern": "ä".repeat(3000)})),
        ("tool_search_files", json!({"pattern": ""})),
        ("tool_search_files", json!({"pattern": "x", "max_results": 0})),
        ("tool_search_files", json!({"pattern": "x", "max_results": 1001})),
        ("tool_list_directory", json!({"pattern": "x".repeat(4097)})),
        ("tool_edit_file", json!({"path": "x", "old": "", "new": "y"})),
        ("tool_write_file", json!({"path": "x", "content": "x".repeat(100 * 1024 * 1024 + 1)})),
    ] {
        assert!(matches!(read(name, arguments), Err(Invalid::Arguments(_))), "{name}");
    }
}

/// TL-7.6: who calls is known from the token; no argument says it.
#[test]
fn the_user_is_no_argument() {
    for spec in catalog::all() {
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert!(!properties.contains_key("user_id"));
        assert_eq!(spec.parameters["additionalProperties"], false);
        let refused = read(spec.name, json!({"path": "x", "user_id": "someone"}));
        assert!(matches!(refused, Err(Invalid::Arguments(_))), "{}", spec.name);
    }
}

/// Words that a model can mend its call by.
#[test]
fn errors_say_what_is_wrong() {
    let says = |name, arguments| read(name, arguments).unwrap_err().to_string();
    assert_eq!(says("tool_read_file", json!({})), "`path` is missing");
    assert_eq!(
        says("tool_read_file", json!({"path": "x", "lines": 3})),
        "`lines`: there is no such argument"
    );
    let large = says("tool_execute_command", json!({"command": "ls", "timeout": 900}));
    assert!(large.contains("timeout") && large.contains("300"), "{large}");
    let long = says("tool_write_file", json!({"path": "x", "content": 5}));
    assert!(long.contains("content") && long.contains("string"), "{long}");
    let unknown = says("tool_delete_file", json!({}));
    assert!(
        unknown.contains("tool_delete_file") && unknown.contains("tool_write_file"),
        "{unknown}"
    );
}

#[test]
fn the_catalogue_is_that_of_the_protocol() {
    let names: Vec<_> = catalog::all().iter().map(|spec| spec.name).collect();
    assert_eq!(
        names,
        [
            "tool_read_file",
            "tool_write_file",
            "tool_edit_file",
            "tool_list_directory",
            "tool_search_files",
            "tool_execute_command"
        ]
    );
    let previewed: Vec<_> =
        catalog::all().iter().filter(|spec| spec.previewed).map(|spec| spec.name).collect();
    assert_eq!(previewed, ["tool_write_file", "tool_edit_file"]);
    assert!(catalog::find("tool_read_file").is_some_and(|spec| !spec.effects));
    assert!(catalog::find("read_file").is_none());
}
