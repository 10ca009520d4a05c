// What agents answer in tests, in place of models.

export const HOSTILE = `# Hostile

<script>document.title = "owned"; fetch("http://evil.test/script")</script>
<img src="http://evil.test/raw.png" onerror="document.title='owned'">
<iframe src="http://evil.test/frame"></iframe> <style>@import "http://evil.test/style.css"; body { background: url(http://evil.test/bg) }</style>
![a picture](http://evil.test/picture.png) ![x](data:image/svg+xml;base64,PHN2Zz4=) ![y](//evil.test/slashes.png)
[click](javascript:document.title='owned') [data](data:text/html,<script>alert(1)</script>) [vb](vbscript:x) [ok](https://example.org/fine)
<a href="javascript:alert(1)">raw link</a> <svg onload="document.title='owned'"><link rel="prefetch" href="http://evil.test/prefetch">
[ref]: http://evil.test/reference "title"
![by reference][ref] <https://evil.test/auto> <base href="http://evil.test/">
| a | b |
|---|---|
| ![z](http://evil.test/cell.png) | <object data="http://evil.test/object"></object> |

\`\`\`html
<script src="http://evil.test/fence.js"></script>
\`\`\`
The end of it.`;

export const SCRIPTS = {
  worker: `
[[rules]]
when = 'FAIL'
fault = 'panic'
[[rules]]
when = 'HOLD'
text = 'a b c d e f g h i j k l m n o p q r s t u v w x y z'
pause_ms = 3000
[[rules]]
when = 'STREAM'
text = 'one two three four five six seven eight **done streaming**'
pause_ms = 500
[[rules]]
when = 'SLOW'
text = 'took its time: one two three four five six'
pause_ms = 100
[[rules]]
when = 'HOSTILE'
text = '''
${HOSTILE}'''
[[rules]]
when = 'MARKDOWN'
text = '''
## Where to begin

The shop has **three parts** and a *queue* between them:

1. \`web\`: what people see
2. \`orders\`: what they bought
3. \`post\`: how it reaches them

| part | lines | tests |
|:-----|------:|------:|
| web | 4,120 | 88 |
| orders | 2,310 | 140 |

\`\`\`rust
fn main() -> anyhow::Result<()> {
    let shop = Shop::open("orders.db")?;
    shop.serve("127.0.0.1:8080")
}
\`\`\`

> The slowest test opens the database a hundred times.

See [the guide](https://example.org/guide) for the rest.'''
[[rules]]
text = 'done: {message}'
`,
  hands: `
[[rules]]
when = "write"
calls = [{ name = "tool_write_file", arguments = { path = "notes.txt", content = "the door is red\\n" } }]
[[rules]]
when = "touch"
calls = [{ name = "tool_execute_command", arguments = { command = "touch", args = ["a file made"] } }]
[[rules]]
when = "ask"
calls = [{ name = "ask_user", arguments = { question = "Which colour?", options = ["green", "blue"] } }]
[[rules]]
after = "tool_write_file"
text = "The write came back: {result}"
[[rules]]
after = "ask_user"
text = "Then {result} it is"
[[rules]]
text = 'done: {message}'
`,
};
