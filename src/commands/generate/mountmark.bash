# Completion of mountmark's command line for bash 4.4 or newer: asks the program.

_mountmark() {
    # bash breaks words at : and =, which are parts of FS:VARIANT and --option=value. Here they are joined again.
    local line=$COMP_LINE word last index
    local -a words=()
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        last=$word
        # The part before the cursor of the word that is being completed.
        if ((index == COMP_CWORD)) && [[ $word != [:=]* ]]; then
            last=$2
        fi
        if ((index > 0)) && [[ $line != [[:blank:]]* && ($word == [:=]* || ${words[-1]} == *[:=]) ]]; then
            words[-1]+=$last
        else
            words+=("$last")
        fi
        line=${line#*"$word"}
    done

    local IFS=$'\013'
    COMPREPLY=($(
        MOUNTMARK_COMPLETE=bash _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) \
            mountmark -- "${words[@]}" 2>/dev/null
    ))

    # bash replaces what follows the last break alone.
    local breaks=
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
    if [[ -n $breaks ]]; then
        word=${words[-1]}
        COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*["$breaks"]}"}"}")
    fi
    # A folder, an option with a value behind it, or a list may go on.
    if [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} == *[/=:] ]]; then
        compopt -o nospace
    fi
}

complete -o bashdefault -o nosort -F _mountmark mountmark
