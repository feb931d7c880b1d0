# SessionStart: plain text on standard output goes to the model along with the first prompt.
branch=$(git branch --show-current 2>/dev/null) || exit 0
[ -z "$branch" ] || echo "The git branch is $branch."
