# Lets the gateway list the tools of two servers, as a client would. The argument describes the tool of the second one.
set -eu
cat > "$HOME/../bin/server" <<'X'
#!/bin/sh
# server TOOL DESCRIPTION
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
    case $line in
        *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"tools/list"'*) result="{\"tools\":[{\"name\":\"$1\",\"description\":\"$2\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
        *) result='{}' ;;
    esac
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
X
chmod +x "$HOME/../bin/server"
mkdir -p "$XDG_CONFIG_HOME/interlock"
cat > "$XDG_CONFIG_HOME/interlock/config.toml" <<X
[mcp.files]
command = "server"
args = ["write_file", "Writes a file."]

[mcp.tracker]
command = "server"
args = ["look_up", "$1"]
X
cat > "$TMPDIR/client.jsonl" <<'X'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
X
# Below a program that is not taken for a client.
find . -maxdepth 0 -exec sh -c 'interlock gateway < "$TMPDIR/client.jsonl" > "$TMPDIR/listed"' \;
grep -q interlock_get_state "$TMPDIR/listed"
