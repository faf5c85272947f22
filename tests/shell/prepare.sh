# Makes the folder that the lines of this directory run in. `$PWD` is the project, `$HOME` is empty.

export GIT_AUTHOR_DATE='2024-01-02T03:04:05Z' GIT_COMMITTER_DATE='2024-01-02T03:04:05Z'
git config --global user.name You
git config --global user.email you@example.com
git config --global init.defaultBranch main
git config --global gc.auto 0

printf 'line 1\nline 2\nline 3\n' > f.txt
printf 'line 1\nline 3\nline 4\n' > a.txt
printf '3 c\n1 a\n2 b\n' > n.txt
printf 'name,size\nada,3\nbob,5\n' > t.csv
printf 'a#b c\n' > odd.txt
mkdir -p src/deep d e
printf 'fn main() {\n    // TODO: later\n    println!("hi");\n}\n' > src/main.rs
printf 'pub fn add(a: i32, b: i32) -> i32 { a + b }\n' > src/lib.rs
printf 'import os\n\ndef run():\n    return os.getcwd()\n' > src/run.py
printf 'deep\n' > src/deep/x.txt
printf 'k1\n' > d/k1
printf 'k2\n' > d/k2
printf 'o\n' > d/k.o
printf '{"name": "p", "version": "1.2.3", "scripts": {"test": "touch ran"}, "dependencies": {"left": "1"}}\n' > package.json
printf '[{"x": 1}, {"x": 2}]\n' > p.json
printf 'a: 1\nb:\n  - 2\n  - 3\n' > y.yaml
printf '<a><b>1</b></a>\n' > x.xml
printf 'all: ; @echo all\ntest: ; touch ran\nplus: ; +touch ran\n' > Makefile
printf '0000000: 6869 0a  hi.\n' > p.hex
printf -- '--- f.txt\n+++ f.txt\n@@ -1 +1 @@\n-line 1\n+line one\n' > f.patch
printf '[package]\nname = "p"\nversion = "0.1.0"\n' > Cargo.toml
printf '#!/bin/sh\ntouch "${0%%/*}/ran"\nexit 0\n' > x
printf 'touch ran\n' > evil.sh
chmod +x x evil.sh
mkdir bin evilpy
cp x bin/ls
printf 'cp /dev/null "$PWD/ran"\n' > bin/rc
printf 'open("ran", "w")\n' > evilpy/sitecustomize.py
printf 'open("ran", "w")\n' > evil.py
printf 'require("fs").writeFileSync("ran", "")\n' > evil.js
printf 'BEGIN { system("touch ran") }\n' > evil.awk
printf 'w ran\n' > evil.sed
printf 'set\n' > .hidden
ln -s f.txt link
tar cf t.tar d f.txt
tar czf t.tgz d f.txt
gzip -k -n a.txt
zip -q z.zip a.txt

git init --quiet
rm -f .git/hooks/*.sample
printf '*.log\nran\n' > .gitignore
git add .
git commit --quiet -m 'feat: one > two'
printf 'line 4\n' >> f.txt
git commit --quiet -am 'fix: more'
git tag v1.0
git branch topic HEAD~1
printf 'kept\n' >> a.txt
git stash push --quiet
git remote add origin ../origin.git
printf 'new\n' >> f.txt
printf 'untracked\n' > new.txt

# A directory whose file names are options, and a repository whose own settings run a program.
mkdir g sub
printf 'b\n' > g/f.txt
touch -- g/-opwned
cp x sub/x
git init --quiet sub
rm -f sub/.git/hooks/*.sample
git -C sub config core.fsmonitor ./x
