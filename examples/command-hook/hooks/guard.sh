# PreToolUse: exit code 2 denies the call, and the model gets what stands on standard error. Exit code 0 says nothing.
# The input is one line of JSON. A look for text in it is enough for a reminder; it is no fence against a model that wants to get
# around it: rules of "permission" in tenon.json are.
input=$(cat)
case $input in
*'git push'*'--force'* | *'git push'*' -f'*)
	echo "Forced pushes are not for agents. Push to a branch of your own instead." >&2
	exit 2
	;;
esac
