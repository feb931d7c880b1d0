# PreToolUse: exit code 2 denies the call, and the model gets what the command printed to standard error. Exit code 0 has no effect.
# The input is one line of JSON. Searching it for text is enough for a reminder, but does not stop a model that tries to get around
# it. Rules under "permission" in tenon.json do.
input=$(cat)
case $input in
*'git push'*'--force'* | *'git push'*' -f'*)
	echo "Forced pushes are not for agents. Push to a branch of your own instead." >&2
	exit 2
	;;
esac
