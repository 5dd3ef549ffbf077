/* SPDX-License-Identifier: MIT */
/* Completion for bash, zsh and fish, from the table of verbs. bash has one table of words; zsh and
 * fish also show what each verb and option is for. */
#include "cmd/gen_completion.h"

#include <string.h>

#include "cmd/options.h"
#include "cmd/verb.h"

/* The names of all verbs, and those of all topics. */
static void put_bash_names(FILE *file)
{
    fputs("_lull_verbs='", file);
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        fprintf(file, "%s%s", i ? " " : "", lull_verbs[i]->name);
    }
    fputs("'\n_lull_topics='", file);
    for (uint32_t i = 0; lull_topics[i]; i++) {
        fprintf(file, "%s%s", i ? " " : "", lull_topics[i]->name);
    }
    fputs("'\n", file);
}

/* One line of the completion's table: the options, and what completes the values of those that take
 * one. */
static void put_bash_verb(FILE *file, const struct lull_verb *verb)
{
    uint32_t count, n_own;
    g_autofree const struct lull_option **options = lull_verb_options(verb, &count, &n_own);
    fprintf(file, "    %s)\n        options='", verb->name);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(file, "%s--%s%s", i ? " " : "", options[i]->name,
                options[i]->kind == LULL_OPTION_FLAG ? "" : "=");
    }
    fputs("'\n        case $option in\n", file);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_option *option = options[i];
        if (option->kind == LULL_OPTION_FLAG) {
            continue;
        }
        fprintf(file, "        --%s", option->name);
        if (option->letter) {
            fprintf(file, " | -%c", option->letter);
        }
        fputs(") ", file);
        if (option->kind == LULL_OPTION_CHOICE) {
            g_autofree char *words = g_strjoinv(" ", (char **)option->choices);
            fprintf(file, "value='%s'", words);
        } else {
            fputs(option->kind == LULL_OPTION_FILE ? "value=@file" : "value=@text", file);
        }
        fputs(" ;;\n", file);
    }
    fputs("        esac\n        ;;\n", file);
}

static const char bash_start[] =
    "_lull()\n"
    "{\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local option= options= value= verb= first=1\n"
    "    while [[ $first -lt $COMP_CWORD && ${COMP_WORDS[first]} == --no-pager ]]; do\n"
    "        first=$((first + 1))\n"
    "    done\n"
    "    verb=${COMP_WORDS[first]-}\n"
    "    COMPREPLY=()\n"
    "    # bash splits --name=value at the sign into three words\n"
    "    if [[ $current == = ]]; then\n"
    "        option=$previous current=\n"
    "    elif [[ $previous == = && $COMP_CWORD -gt 2 ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    else\n"
    "        option=$previous\n"
    "    fi\n"
    "    if [[ $COMP_CWORD -eq $first ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$_lull_verbs --help --no-pager --version\" -- \"$current\"))\n"
    "        return\n"
    "    fi\n"
    "    case $verb in\n"
    "    help)\n"
    "        [[ $COMP_CWORD -eq $((first + 1)) ]] && COMPREPLY=($(compgen -W \"$_lull_verbs $_lull_topics\" -- \"$current\"))\n"
    "        return\n"
    "        ;;\n";

static const char bash_end[] =
    "    *) return ;;\n"
    "    esac\n"
    "    if [[ $value == @text ]]; then\n"
    "        return\n"
    "    elif [[ $value == @file ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
    "    elif [[ $value ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$value\" -- \"$current\"))\n"
    "    elif [[ $current == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
    "        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
    "    fi\n"
    "}\n"
    "complete -F _lull lull\n";

void lull_gen_bash(FILE *file)
{
    put_bash_names(file);
    fputs(bash_start, file);
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        put_bash_verb(file, lull_verbs[i]);
    }
    fputs(bash_end, file);
}

/* Writes text with a backslash before each character of `special`, inside quotes '…' of a shell
 * that writes a quote in them as `quote`. */
static void put_quoted(FILE *file, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs(quote, file);
            continue;
        }
        if (strchr(special, *text)) {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
}

#define ZSH_QUOTE "'\\''"

/* One specification of _arguments: '(-o --output)'{-o+,--output=}'[help]:DIR:_files' */
static void put_zsh_option(FILE *file, const struct lull_option *option)
{
    const bool is_flag = option->kind == LULL_OPTION_FLAG;
    fputs(" \\\n            ", file);
    if (option->kind == LULL_OPTION_TEXTS) {
        fputs("'*'", file);
    } else if (option->letter) {
        fprintf(file, "'(-%c --%s)'", option->letter, option->name);
    }
    if (option->letter) {
        fprintf(file, is_flag ? "{-%c,--%s}" : "{-%c+,--%s=}", option->letter, option->name);
    } else {
        fprintf(file, is_flag ? "--%s" : "--%s=", option->name);
    }
    fputs("'[", file);
    put_quoted(file, option->help, "[]\\", ZSH_QUOTE);
    fputs("]", file);
    if (!is_flag) {
        fputs(":", file);
        put_quoted(file, option->argument, ":\\", ZSH_QUOTE);
        fputs(":", file);
    }
    if (option->kind == LULL_OPTION_CHOICE) {
        g_autofree char *words = g_strjoinv(" ", (char **)option->choices);
        fprintf(file, "(%s)", words);
    } else if (!is_flag) {
        fputs(option->kind == LULL_OPTION_FILE ? "_files" : " ", file);
    }
    fputs("'", file);
}

static void put_zsh_verb(FILE *file, const struct lull_verb *verb)
{
    uint32_t count, n_own;
    g_autofree const struct lull_option **options = lull_verb_options(verb, &count, &n_own);
    fprintf(file, "    %s)\n        _arguments -s", verb->name);
    for (uint32_t i = 0; i < count; i++) {
        put_zsh_option(file, options[i]);
    }
    if (verb->rest_is_command) {
        fputs(" \\\n            '(-)1:command:_command_names -e' '*::arguments:_normal'", file);
    } else if (!verb->takes_no_trace) {
        fputs(" \\\n            '*:trace:_files'", file);
    }
    fputs("\n        ;;\n", file);
}

static const char zsh_start[] =
    "_lull() {\n"
    "    local curcontext=$curcontext state line\n"
    "    typeset -A opt_args\n"
    "    _arguments -C '(- *)--help[show help]' '(- *)--version[show the version]' \\\n"
    "        '*--no-pager[print to the terminal at once, not through a pager]' \\\n"
    "        '1:verb:->verb' '*::argument:->rest'\n"
    "    case $state in\n"
    "    verb) _describe verb _lull_verbs; return ;;\n"
    "    rest) ;;\n"
    "    *) return ;;\n"
    "    esac\n"
    "    curcontext=${curcontext%:*}-$words[1]:\n"
    "    case $words[1] in\n"
    "    help) _arguments '1:verb:{_describe verb _lull_verbs -- _lull_topics}' ;;\n";

static void put_zsh_name(FILE *file, const char *name, const char *summary)
{
    fprintf(file, "    '%s:", name);
    put_quoted(file, summary, ":\\", ZSH_QUOTE);
    fputs("'\n", file);
}

void lull_gen_zsh(FILE *file)
{
    fputs("typeset -ga _lull_verbs=(\n", file);
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        put_zsh_name(file, lull_verbs[i]->name, lull_verbs[i]->summary);
    }
    fputs(")\ntypeset -ga _lull_topics=(\n", file);
    for (uint32_t i = 0; lull_topics[i]; i++) {
        put_zsh_name(file, lull_topics[i]->name, lull_topics[i]->summary);
    }
    fputs(")\n", file);
    fputs(zsh_start, file);
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        put_zsh_verb(file, lull_verbs[i]);
    }
    fputs("    esac\n}\n_lull \"$@\"\n", file);
}

static void put_fish_text(FILE *file, const char *text)
{
    fputc('\'', file);
    put_quoted(file, text, "\\", "\\'");
    fputc('\'', file);
}

static void put_fish_option(FILE *file, const struct lull_verb *verb,
                            const struct lull_option *option)
{
    fprintf(file, "complete -c lull -n '__lull_is %s' -l %s", verb->name, option->name);
    if (option->letter) {
        fprintf(file, " -s %c", option->letter);
    }
    if (option->kind == LULL_OPTION_CHOICE) {
        g_autofree char *words = g_strjoinv(" ", (char **)option->choices);
        fprintf(file, " -x -a '%s'", words);
    } else if (option->kind != LULL_OPTION_FLAG) {
        fputs(option->kind == LULL_OPTION_FILE ? " -r -F" : " -x", file);
    }
    fputs(" -d ", file);
    put_fish_text(file, option->help);
    fputc('\n', file);
}

static const char fish_start[] =
    "function __lull_is -d 'Whether the verb of the command line is one of these'\n"
    "    set -l words (commandline -opc | string match -v -- --no-pager)\n"
    "    test (count $words) -ge 2; and contains -- $words[2] $argv\n"
    "end\n"
    "function __lull_needs_verb\n"
    "    test (count (commandline -opc | string match -v -- --no-pager)) -eq 1\n"
    "end\n"
    "complete -c lull -f\n"
    "complete -c lull -n __lull_needs_verb -l help -d 'show help'\n"
    "complete -c lull -n __lull_needs_verb -l version -d 'show the version'\n"
    "complete -c lull -n __lull_needs_verb -l no-pager -d 'print to the terminal at once, not through a pager'\n";

void lull_gen_fish(FILE *file)
{
    fputs(fish_start, file);
    for (uint32_t i = 0; lull_topics[i]; i++) {
        fprintf(file, "complete -c lull -n '__lull_is help' -a %s -d ", lull_topics[i]->name);
        put_fish_text(file, lull_topics[i]->summary);
        fputc('\n', file);
    }
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        const struct lull_verb *verb = lull_verbs[i];
        fprintf(file, "complete -c lull -n '__lull_needs_verb; or __lull_is help' -a %s -d ",
                verb->name);
        put_fish_text(file, verb->summary);
        fputc('\n', file);
        uint32_t count, n_own;
        g_autofree const struct lull_option **options = lull_verb_options(verb, &count, &n_own);
        for (uint32_t k = 0; k < count; k++) {
            put_fish_option(file, verb, options[k]);
        }
        if (verb->rest_is_command) {
            fprintf(file,
                    "complete -c lull -n '__lull_is %s' "
                    "-a '(__fish_complete_subcommand --fcs-skip=2)'\n",
                    verb->name);
        } else if (!verb->takes_no_trace) {
            fprintf(file, "complete -c lull -n '__lull_is %s' -F\n", verb->name);
        }
    }
}
